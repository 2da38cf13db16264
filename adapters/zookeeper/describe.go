package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/checker/history"
	"github.com/holdfast-go/holdfast/scenarios/locks"
)

// The locks, which differ in whether the resource is shown a token.
const (
	plain  = "zookeeper"
	fenced = "zookeeper-fenced"
)

// members is the number of servers of a run: enough for a majority without one.
const members = 3

const (
	// handoff is the time for which a waiter that a watch wakes may overlook a free lock.
	handoff = 200 * time.Millisecond
	// expiry is the time by which a session may outlive its timeout. The leader looks
	// once in a tick, and a new one gives each its whole time again.
	expiry = 2 * tick
)

// jar is where Debian puts the server, with what it needs in its manifest.
const jar = "/usr/share/java/zookeeper.jar"

// logger writes the server's log, to its standard error.
const logger = "/usr/share/java/slf4j-simple.jar"

func missing() string {
	if _, err := os.Stat(jar); err != nil {
		return "ZooKeeper's server is not installed (Debian's package zookeeper)"
	}
	if _, err := exec.LookPath("java"); err != nil {
		return "ZooKeeper needs java, which is not installed (Debian's package default-jre-headless)"
	}
	return ""
}

// version is that of the server, as the name of its file has it.
func version() string {
	path, err := filepath.EvalSymlinks(jar)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "zookeeper-"), ".jar")
}

// describe says what the process has.
func describe() []locks.Description {
	d := locks.Description{
		Name: plain, Summary: "zk.Lock of go-zookeeper, a session for each owner, on three members", Version: version(),
		Claims: history.Claims{
			Waits: true, Cancels: true, Lease: true, Renewal: true, LostSign: true, Fairness: true, TakesBack: true,
		},
		RenewEvery: 0.4, HandoffNS: handoff.Nanoseconds(), LeaseSlackNS: expiry.Nanoseconds(), MarginNS: margin.Nanoseconds(),
		Servers: &locks.BundledServers{Args: []string{serveRole}, Members: members, TwoPeers: true, Missing: missing()},
	}
	f := d
	f.Name, f.Summary, f.Claims.Fencing = fenced, "the same, with the czxid of the owner's node as a token that the resource checks", true
	return []locks.Description{d, f}
}
