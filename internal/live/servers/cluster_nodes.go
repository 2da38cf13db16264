package servers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clusterNode is a line of CLUSTER NODES:
//
//	id ip:port@bus[,host] flags primary ping pong epoch link slot ...
type clusterNode struct {
	id, of string // its own, and of which node it is a replica, "-" of none
	addr   string // ip:port
	host   string // "" if it announces none
	flags  []string
	epoch  int
	linked bool // the node that reports is connected to it
	slots  []string
}

func (n clusterNode) is(flags ...string) bool {
	return slices.ContainsFunc(n.flags, func(f string) bool { return slices.Contains(flags, f) })
}

func readClusterNodes(text string) ([]clusterNode, error) {
	var all []clusterNode
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 {
			return nil, fmt.Errorf("read CLUSTER NODES: %q", line)
		}
		epoch, err := strconv.Atoi(f[6])
		if err != nil {
			return nil, fmt.Errorf("read CLUSTER NODES: %w", err)
		}
		names := strings.Split(f[1], ",") // then what later versions add
		addr, _, _ := strings.Cut(names[0], "@")
		n := clusterNode{id: f[0], addr: addr, flags: strings.Split(f[2], ","), of: f[3], epoch: epoch, linked: f[7] == "connected", slots: f[8:]}
		if len(names) > 1 {
			n.host = names[1]
		}
		all = append(all, n)
	}
	return all, nil
}
