package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/live/processes"
	"github.com/holdfast-go/holdfast/internal/must"
	"github.com/holdfast-go/holdfast/internal/suite"
)

// These secrets must appear nowhere outside their source.
const (
	secret        = "s3cret-of-the-servers"
	sentinelWord  = "s3cret-of-the-sentinels"
	secretPattern = "s3cret\\|PRIVATE KEY"
)

// authority signs certificates, and writes them into a directory.
type authority struct {
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	last int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{dir: t.TempDir()}
	a.issue(t, "ca", func(c *x509.Certificate) {
		c.IsCA, c.BasicConstraintsValid, c.KeyUsage = true, true, x509.KeyUsageCertSign
	})
	return a
}

// issue writes NAME.crt and NAME.key.
func (a *authority) issue(t *testing.T, name string, with func(*x509.Certificate)) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Succeed(t, err)
	a.last++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(a.last), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	with(c)
	if a.cert == nil {
		a.cert, a.key = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	must.Succeed(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	must.Succeed(t, err)
	for ext, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: der}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		must.Succeed(t, os.WriteFile(a.file(name+ext), pem.EncodeToMemory(block), 0o600))
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// spawn starts a redis-server that speaks only TLS, and only with clients that
// have a certificate of the authority. It returns the server's port.
func (a *authority) spawn(t *testing.T, conf string, args ...string) (port string) {
	t.Helper()
	free, err := processes.FreePort()
	must.Succeed(t, err)
	port = strconv.Itoa(free)
	dir := t.TempDir()
	file := filepath.Join(dir, "redis.conf")
	conf = fmt.Sprintf("bind 127.0.0.1\nport 0\ntls-port %s\ntls-replication yes\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n%s\n",
		port, a.file("server.crt"), a.file("server.key"), a.file("ca.crt"), conf)
	must.Succeed(t, os.WriteFile(file, []byte(conf), 0o600))
	server := exec.Command("redis-server", append([]string{file}, args...)...)
	server.Dir = dir
	out, err := server.StdoutPipe()
	must.Succeed(t, err)
	server.Stderr = server.Stdout
	must.Succeed(t, server.Start())
	ended := make(chan struct{})
	t.Cleanup(func() { server.Process.Kill(); <-ended })
	log, serves := "", false
	lines := bufio.NewScanner(out)
	for !serves && lines.Scan() {
		log += lines.Text() + "\n"
		serves = strings.Contains(log, "Ready to accept connections") || strings.Contains(log, "Sentinel ID is") // it listens before it says so
	}
	go func() { io.Copy(io.Discard, out); server.Wait(); close(ended) }()
	if !serves {
		if strings.Contains(log, "Bad directive") && os.Getenv("HOLDFAST_REQUIRE_REDIS") == "" {
			t.Skip("not tried: redis-server is built without TLS")
		}
		t.Fatalf("redis-server has ended: %s", log)
	}
	return port
}

// secured is the security of servers that people run: certificates of their own
// authority, and a user with the least rights that a run needs.
func secured(t *testing.T) *authority {
	t.Helper()
	requireRedis(t)
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("HOLDFAST_REQUIRE_REDIS") != "" {
			t.Fatal(err)
		}
		t.Skip("not tried: there is no redis-server, and whether valkey-server has TLS is not known")
	}
	a := newAuthority(t)
	a.issue(t, "server", func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = []net.IP{net.IPv4(127, 0, 0, 1)}, []string{"redis.example"}
	})
	a.issue(t, "guest", func(*x509.Certificate) {})
	return a
}

// aclUser is the user of docs/live.md.
const aclUser = "user default off\nuser holdfast on >" + secret + " ~*holdfast:* &* +@all -@admin -@dangerous +monitor +client|list +info +role"

// run plays with secrets in the environment, and searches for them in everything
// that it wrote.
func (a *authority) run(t *testing.T, environment []string, args ...string) (code int, said string, dir suite.Dir) {
	t.Helper()
	dir = suite.Dir(filepath.Join(t.TempDir(), "out"))
	h := command(t, append([]string{"run", "--world", "live", "--workers", "2", "--out", string(dir)}, args...)...)
	h.Env = append(h.Env, environment...)
	code = h.code(t)
	said = h.stdout.String() + h.stderr.String()
	for _, place := range []string{string(dir), h.home, h.tmp} {
		if found, err := exec.Command("grep", "-rl", secretPattern, place).Output(); err == nil {
			t.Errorf("a secret is in %s", found)
		}
	}
	if strings.Contains(said, "s3cret") {
		t.Errorf("a secret is told: %s", said)
	}
	return code, said, dir
}

func (a *authority) flags() []string {
	return []string{"--redis-ca", a.file("ca.crt"), "--redis-cert", a.file("guest.crt"), "--redis-key", a.file("guest.key")}
}

// Over TLS, with a client certificate and a restricted user, a run has the same
// verdicts as anywhere else. Faults strike the link, and wait for requests.
func TestRunsOverTLS(t *testing.T) {
	a := secured(t)
	port := a.spawn(t, "save \"\"\n"+aclUser)
	environment := []string{"HOLDFAST_REDIS_USER=holdfast", "HOLDFAST_REDIS_PASSWORD=" + secret}
	// At this scale, a busy machine may stall the harness for 0.3 s, and the verdicts stand.
	scenarios := []string{"holder-pause", "partitioned-holder", "lost-acquire-reply", "half-open-release", "--lock", "reentrant", "--time-scale", "0.5"}
	code, said, dir := a.run(t, environment, append(append(scenarios, "--redis", "rediss://127.0.0.1:"+port), a.flags()...)...)
	res, err := dir.ReadResults()
	if code != exitOK || err != nil || len(res.Runs) != 4 {
		t.Fatalf("exit %d, %v, %d runs: %s", code, err, len(res.Runs), said)
	}
	if !strings.Contains(res.Command, "--redis rediss://127.0.0.1:"+port+" --redis-ca ") {
		t.Errorf("the command is told as %s", res.Command)
	}

	for _, tt := range []struct {
		name, want  string
		environment []string
		args        []string
	}{
		{"no certificate of the guest", "certificate", environment, []string{"--redis", "rediss://127.0.0.1:" + port, "--redis-ca", a.file("ca.crt")}},
		{"an authority that is not known", "unknown authority", environment, append([]string{"--redis", "rediss://127.0.0.1:" + port}, a.flags()[2:]...)},
		{"another name", "not localhost", environment, append([]string{"--redis", "rediss://localhost:" + port}, a.flags()...)},
		{"a wrong password", "WRONGPASS", []string{"HOLDFAST_REDIS_USER=holdfast", "HOLDFAST_REDIS_PASSWORD=s3cret"}, append([]string{"--redis", "rediss://127.0.0.1:" + port}, a.flags()...)},
		{"no TLS", "EOF", environment, []string{"--redis", "redis://127.0.0.1:" + port}},
		{"flags without TLS", "are about TLS", environment, append([]string{"--redis", "redis://127.0.0.1:" + port}, a.flags()...)},
		{"a key that is missing", "given together", environment, []string{"--redis", "rediss://127.0.0.1:" + port, "--redis-cert", a.file("guest.crt")}},
		{"a key that is none", "read the certificate of the guest", environment, []string{"--redis", "rediss://127.0.0.1:" + port, "--redis-cert", a.file("guest.crt"), "--redis-key", a.file("guest.crt")}},
	} {
		code, said, _ := a.run(t, tt.environment, append([]string{"contention", "--lock", "reentrant"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(said, tt.want) {
			t.Errorf("%s: exit %d, want %q: %s", tt.name, code, tt.want, said)
		}
	}
}

// Sentinels require their own certificate, name and password, and announce
// addresses that no certificate has.
func TestRunsBehindSentinelsWithAuthentication(t *testing.T) {
	a := secured(t)
	primary := a.spawn(t, "save \"\"\n"+aclUser+" +@all")
	sentinel := a.spawn(t, fmt.Sprintf("user default off\nuser watch on >%s ~* &* +@all\nsentinel monitor mymaster 127.0.0.1 %s 1\n"+
		"sentinel auth-user mymaster holdfast\nsentinel auth-pass mymaster %s", sentinelWord, primary, secret), "--sentinel")
	code, said, dir := a.run(t, []string{
		"HOLDFAST_REDIS_USER=holdfast", "HOLDFAST_REDIS_PASSWORD=" + secret, "HOLDFAST_SENTINEL_USER=watch", "HOLDFAST_SENTINEL_PASSWORD=" + sentinelWord,
	}, append([]string{"partitioned-holder", "--lock", "reentrant", "--redis", "sentinels://localhost:" + sentinel + "/mymaster", "--redis-name", "redis.example"}, a.flags()...)...)
	if res, err := dir.ReadResults(); code != exitOK || err != nil || len(res.Runs) != 1 {
		t.Errorf("exit %d, %v, %d runs: %s", code, err, len(res.Runs), said)
	}
}
