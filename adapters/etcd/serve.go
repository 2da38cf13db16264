package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// A member notices the death of its leader after five to ten ticks. These are
// half of etcd's defaults, so that the least lease there can be is a second:
// etcd grants none that is shorter than one and a half elections.
const tickMS, electionMS = 50, 500

// settings come with the first order, see docs/adapter-protocol.md.
type settings struct {
	Name    string            `json:"name"`
	Data    string            `json:"data"`
	Client  string            `json:"client"`  // where it is to listen to clients
	Peer    string            `json:"peer"`    // and to the other members
	Members map[string]string `json:"members"` // where members are reached, by name
}

// order is a line that a server gets.
type order struct {
	ID     int      `json:"id"`
	Do     string   `json:"do"`
	Server settings `json:"server"` // start
	To     string   `json:"to"`     // lead
	Lock   string   `json:"lock"`   // delete
}

// answer is the line that answers each.
type answer struct {
	ID    int      `json:"id"`
	OK    bool     `json:"ok,omitempty"`
	Error string   `json:"error,omitempty"`
	Lead  string   `json:"lead,omitempty"` // status: who leads, as far as the server knows
	Term  uint64   `json:"term,omitempty"` // and since which election
	Keys  []string `json:"keys,omitempty"`
}

// serve is a member of a cluster, until its input ends.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, answers := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var first order
	if err := lines.Decode(&first); err != nil {
		return fmt.Errorf("read the first order: %w", err)
	}
	if first.Do != "start" {
		return fmt.Errorf("ordered to %s before it is started", first.Do)
	}
	m, err := startMember(ctx, first.Server)
	if err != nil {
		return errors.Join(err, answers.Encode(answer{ID: first.ID, Error: err.Error()}))
	}
	defer m.etcd.Close()
	if err := answers.Encode(answer{ID: first.ID, OK: true}); err != nil {
		return err
	}
	return m.obey(ctx, lines, answers)
}

// obey carries orders out until there are no more, the member fails, or ctx ends.
func (m *member) obey(ctx context.Context, lines *json.Decoder, answers *json.Encoder) error {
	done := make(chan error, 1)
	go func() {
		for {
			var o order
			if err := lines.Decode(&o); errors.Is(err, io.EOF) {
				done <- nil
				return
			} else if err != nil {
				done <- fmt.Errorf("read an order: %w", err)
				return
			}
			if err := answers.Encode(m.carryOut(ctx, o)); err != nil {
				done <- err
				return
			}
		}
	}()
	select {
	case err := <-done:
		return err
	case err := <-m.etcd.Err():
		return fmt.Errorf("the member has failed: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// orderLimit bounds what an order may take.
const orderLimit = 5 * time.Second

func (m *member) carryOut(ctx context.Context, o order) answer {
	ctx, cancel := context.WithTimeout(ctx, orderLimit)
	defer cancel()
	a := answer{ID: o.ID}
	var err error
	switch o.Do {
	case "status":
		a.Lead, a.Term = m.leader(), m.etcd.Server.Term()
	case "lead":
		err = m.handOver(ctx, o.To)
	case "keys":
		a.Keys, err = m.keys(ctx)
	case "delete":
		err = m.deleteHolder(ctx, o.Lock)
	default:
		err = fmt.Errorf("there is no order %q", o.Do)
	}
	if err != nil {
		return answer{ID: o.ID, Error: err.Error()}
	}
	a.OK = true
	return a
}

// config is that of a member. Nothing is synced to the disk: what crashes is
// the process, and the machine goes on.
func (s settings) config() (*embed.Config, error) {
	c := embed.NewConfig()
	c.Name, c.Dir = s.Name, s.Data
	c.Logger, c.LogOutputs, c.LogLevel = "zap", []string{"stderr"}, "warn"
	c.TickMs, c.ElectionMs = tickMS, electionMS
	c.UnsafeNoFsync, c.EnableGRPCGateway = true, false
	var initial []string
	for name, addr := range s.Members {
		initial = append(initial, name+"=http://"+addr)
	}
	slices.Sort(initial)
	c.InitialCluster, c.InitialClusterToken = strings.Join(initial, ","), "holdfast"
	for _, to := range []struct {
		urls *[]url.URL
		addr string
	}{
		{&c.ListenClientUrls, s.Client}, {&c.AdvertiseClientUrls, s.Client},
		{&c.ListenPeerUrls, s.Peer}, {&c.AdvertisePeerUrls, s.Members[s.Name]},
	} {
		u, err := url.Parse("http://" + to.addr)
		if err != nil || to.addr == "" {
			return nil, fmt.Errorf("the settings of %q have no good address: %q", s.Name, to.addr)
		}
		*to.urls = []url.URL{*u}
	}
	return c, nil
}
