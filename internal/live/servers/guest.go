package servers

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/proxy"
)

// Guest says who comes to servers of the user's own, and with what.
type Guest struct {
	Remote    bool   // they may be on another machine
	CA        string // a PEM file of who signs their certificates; "" is whom the system trusts
	Cert, Key string // PEM files of the guest's own certificate; "" has none
	Name      string // the name that their certificates have; "" is the host of each address
	// User and Password are for an address without any, SentinelUser and
	// SentinelPassword for Sentinels, which may want others than the servers.
	User, Password, SentinelUser, SentinelPassword string
}

// The variables of the environment that [Guest.TakeSecrets] reads.
const (
	userVar             = "HOLDFAST_REDIS_USER"
	passwordVar         = "HOLDFAST_REDIS_PASSWORD"
	sentinelUserVar     = "HOLDFAST_SENTINEL_USER"
	sentinelPasswordVar = "HOLDFAST_SENTINEL_PASSWORD"
)

// TakeSecrets moves names and passwords from the environment into the guest.
// Processes that start later do not inherit them.
func (g *Guest) TakeSecrets() {
	for name, to := range map[string]*string{
		userVar: &g.User, passwordVar: &g.Password, sentinelUserVar: &g.SentinelUser, sentinelPasswordVar: &g.SentinelPassword,
	} {
		if value, ok := os.LookupEnv(name); ok {
			*to = value
			os.Unsetenv(name)
		}
	}
}

// Words are the flags that give addresses and guest once more, without names
// and passwords.
func (g Guest) Words(list []Address) []string {
	var words []string
	for _, a := range list {
		words = append(words, "--redis", a.String())
	}
	for _, f := range [][2]string{{"--redis-ca", g.CA}, {"--redis-cert", g.Cert}, {"--redis-key", g.Key}, {"--redis-name", g.Name}} {
		if f[1] != "" {
			words = append(words, f[0], "'"+f[1]+"'")
		}
	}
	if g.Remote {
		words = append(words, "--allow-remote")
	}
	return words
}

// Check says what is wrong with the flags that make a guest, or nil. It reads no
// file.
func (g Guest) Check(list []Address) error {
	secure := slices.ContainsFunc(list, func(a Address) bool { return a.secure })
	switch {
	case len(list) == 0 && g.Remote:
		return errors.New("--allow-remote is about the servers of --redis, and there are none")
	case !secure && (g.CA != "" || g.Cert != "" || g.Key != "" || g.Name != ""):
		return errors.New("--redis-ca, --redis-cert, --redis-key and --redis-name are about TLS: no address of --redis begins with rediss://, sentinels:// or clusters://")
	case (g.Cert == "") != (g.Key == ""):
		return errors.New("--redis-cert and --redis-key are given together")
	}
	return nil
}

// visitor is a guest whose files have been read.
type visitor struct {
	Guest
	tls *tls.Config
}

func (g Guest) visitor(list []Address) (*visitor, error) {
	v := &visitor{Guest: g}
	if !slices.ContainsFunc(list, func(a Address) bool { return a.secure }) {
		return v, nil
	}
	v.tls = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: g.Name}
	if g.CA != "" {
		pem, err := os.ReadFile(g.CA)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the authority: %w", err)
		}
		v.tls.RootCAs = x509.NewCertPool()
		if !v.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM", g.CA)
		}
	}
	if g.Cert != "" {
		own, err := tls.LoadX509KeyPair(g.Cert, g.Key)
		if err != nil {
			return nil, fmt.Errorf("read the certificate of the guest: %w", err)
		}
		v.tls.Certificates = []tls.Certificate{own}
	}
	return v, nil
}

// way is the way to a server: with TLS or without, and as which user.
type way struct {
	login login
	tls   *tls.Config // nil without TLS
}

// to is the way to the servers of an address.
func (v *visitor) to(a Address) way {
	w := way{login: a.login}
	if w.login == (login{}) {
		w.login = login{v.User, v.Password}
	}
	if a.secure {
		w.tls = v.tls
	}
	return w
}

// toSentinel is the way to Sentinels. Without names and passwords of their own they get
// none at first.
func (v *visitor) toSentinel(a Address) way {
	w := v.to(a)
	w.login = login{v.SentinelUser, v.SentinelPassword}
	return w
}

// secure speaks TLS over a connection to a server at an address, which has to
// show a certificate for it. Without TLS it is the connection itself.
func (w way) secure(c proxy.Conn, addr string) (proxy.Conn, error) {
	if w.tls == nil {
		return c, nil
	}
	config := w.tls
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	over := tls.Client(c, config)
	c.SetDeadline(time.Now().Add(greetLimit))
	defer c.SetDeadline(time.Time{})
	if err := over.Handshake(); err != nil {
		return nil, fmt.Errorf("agree on TLS with %s: %w", addr, err)
	}
	return over, nil
}

func (p *place) dial(ctx context.Context, d *net.Dialer) (net.Conn, error) {
	c, err := d.DialContext(ctx, "tcp", p.addr)
	if err != nil {
		return nil, err
	}
	over, err := p.way.secure(c.(*net.TCPConn), p.addr)
	if err != nil {
		c.Close()
		return nil, err
	}
	return over, nil
}
