// Package miniredis is a server process of the live world for machines without
// redis-server: miniredis behind a TCP port.
//
// It executes one request at a time, by the clock of the machine, and lets every key end
// at its instant. A connection that asks for it with [TellCommand] gets every request,
// and all that it changed, before its sender gets the reply: see [Report].
//
// It keeps nothing over a restart, has no replicas, and no clock of its own.
package miniredis

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/holdfast-go/holdfast/internal/redis/keyspace"
)

// Serve runs a server on 127.0.0.1 until ctx ends, and then returns nil. conf is a
// configuration file in the format of redis-server; Serve reads only the port. It
// logs events of the server itself in the format of redis-server.
func Serve(ctx context.Context, conf string, log io.Writer) error {
	port, err := readPort(conf)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	s, err := newServer()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	note(log, fmt.Sprintf("Ready to accept connections, miniredis at port %d", port))
	defer context.AfterFunc(ctx, func() { l.Close() })()
	err = s.accept(l)
	s.close()
	if ctx.Err() != nil {
		note(log, "User requested shutdown...")
		return nil
	}
	return errors.Join(fmt.Errorf("accept connections: %w", err), l.Close())
}

func readPort(conf string) (int, error) {
	text, err := os.ReadFile(conf)
	if err != nil {
		return 0, fmt.Errorf("read the configuration: %w", err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		value, ok := strings.CutPrefix(line, "port ")
		if !ok {
			continue
		}
		port, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
		if err != nil || port == 0 {
			return 0, fmt.Errorf("read the configuration %s: port %q is not one from 1 to 65535", conf, value)
		}
		return int(port), nil
	}
	return 0, fmt.Errorf("read the configuration %s: it names no port", conf)
}

// note writes a line as redis-server does. A log that cannot be written to is
// nothing to die of.
func note(log io.Writer, text string) {
	fmt.Fprintf(log, "%d:M %s * %s\n", os.Getpid(), time.Now().Format("02 Jan 2006 15:04:05.000"), text)
}

func newServer() (*server, error) {
	mr := miniredis.NewMiniRedis()
	c, err := mr.Dial() // starts it without a listener
	if err != nil {
		return nil, fmt.Errorf("start miniredis: %w", err)
	}
	c.Close()
	mr.ClockTTL(true)
	s := &server{mr: mr, data: keyspace.Data{}, conns: map[net.Conn]bool{}, told: map[net.Conn]*gob.Encoder{}}
	mr.Server().SetPreHook(s.refuse)
	return s, nil
}
