package servers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Address is the address of external servers:
//
//	redis://[USER:PASSWORD@]HOST:PORT[/0]
//	sentinel://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]/MASTER
//	cluster://[USER:PASSWORD@]HOST:PORT[,HOST:PORT...]
//
// rediss://, sentinels:// and clusters:// are the same over TLS. The name and
// password are those of the servers. A Sentinel gets them only if it asks for some.
type Address struct {
	kind   string
	secure bool // over TLS
	hosts  []string
	master string // what Sentinels call the group
	login  login
}

// login holds the credentials of a server; empty if it needs none.
type login struct{ user, password string }

const (
	kindRedis    = "redis"
	kindSentinel = "sentinel"
	kindCluster  = "cluster"
)

// ParseAddress reads an address. Its errors do not repeat the password.
func ParseAddress(text string) (Address, error) {
	kind, rest, ok := strings.Cut(text, "://")
	if !ok {
		return Address{}, errors.New("an address of servers begins with redis://, sentinel:// or cluster://")
	}
	a := Address{kind: kind}
	switch kind {
	case kindRedis, kindSentinel, kindCluster:
	case kindRedis + "s", kindSentinel + "s", kindCluster + "s":
		a.kind, a.secure = strings.TrimSuffix(kind, "s"), true
	default:
		return Address{}, errors.New("an address of servers begins with redis://, sentinel:// or cluster://, or over TLS with rediss://, sentinels:// or clusters://")
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		var err error
		if a.login, err = parseLogin(rest[:at]); err != nil {
			return Address{}, fmt.Errorf("%s://: %w", kind, err)
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.hosts = strings.Split(hosts, ",")
	for i, h := range a.hosts {
		host, port, err := net.SplitHostPort(h)
		if err != nil || host == "" || port == "" {
			return Address{}, fmt.Errorf("%s://: %q is not HOST:PORT", kind, h)
		}
		a.hosts[i] = net.JoinHostPort(host, port)
	}
	switch {
	case a.kind == kindRedis && len(a.hosts) > 1:
		return Address{}, errors.New("redis:// is one server; give the address of each by itself, or cluster:// for a cluster")
	case a.kind == kindRedis && path != "" && path != "0":
		return Address{}, fmt.Errorf("redis://: database %q: only database 0 can be used", path)
	case a.kind == kindSentinel && (path == "" || strings.Contains(path, "/")):
		return Address{}, errors.New("sentinel:// ends with what the Sentinels call the primary, such as /mymaster")
	case a.kind == kindCluster && path != "":
		return Address{}, fmt.Errorf("cluster:// is followed by addresses only, not by %q", "/"+path)
	case a.kind == kindSentinel:
		a.master = path
	}
	return a, nil
}

// ParseAddresses reads addresses. The error is about the first invalid one.
func ParseAddresses(texts []string) ([]Address, error) {
	var list []Address
	for _, text := range texts {
		a, err := ParseAddress(text)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

func parseLogin(text string) (login, error) {
	user, password, both := strings.Cut(text, ":")
	if !both {
		return login{}, errors.New("what comes before the @ is USER:PASSWORD; USER may be empty")
	}
	user, err1 := url.PathUnescape(user)
	password, err2 := url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return login{}, errors.New("a % in the name or the password is followed by two hexadecimal digits")
	}
	return login{user, password}, nil
}

// String writes the address without its name and password.
func (a Address) String() string {
	s := a.kind
	if a.secure {
		s += "s"
	}
	s += "://"
	if a.login != (login{}) {
		s += "***@"
	}
	s += strings.Join(a.hosts, ",")
	if a.master != "" {
		s += "/" + a.master
	}
	return s
}

// ErrRemote reports that a server is on another machine, by its address.
var ErrRemote = errors.New("not an address of this machine's loopback")

// onLoopback reports whether an address leads to this machine. Of names only
// localhost does, whatever they resolve to.
func onLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
