package sim

import "strings"

// slots is how many slots a Redis Cluster has.
const slots = 16384

// cluster assigns slots to groups, in equal runs.
type cluster struct{ groups int }

// owner is the group that owns a slot.
func (c *cluster) owner(slot int) int { return slot*c.groups/slots + 1 }

// span is the first and last slot of a group.
func (c *cluster) span(group int) (first, last int) {
	first = ((group-1)*slots + c.groups - 1) / c.groups
	last = (group*slots+c.groups-1)/c.groups - 1
	return first, last
}

// slotOf is the slot of a key: CRC16 (XMODEM) of its hash tag, or of all of
// it when it has none (Redis Cluster specification, "Hash tags").
func slotOf(key string) int {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '}'); j > 0 {
			key = key[i+1 : i+1+j]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// keyed lists the commands whose first argument is a key, and whether they
// write. Scripts name their first key after the number of keys.
var keyed = map[string]bool{
	"SET": true, "SETNX": true, "SETEX": true, "PSETEX": true, "GETSET": true, "GETDEL": true, "DEL": true, "UNLINK": true,
	"INCR": true, "INCRBY": true, "DECR": true, "DECRBY": true, "EXPIRE": true, "PEXPIRE": true, "EXPIREAT": true, "PEXPIREAT": true, "PERSIST": true,
	"HSET": true, "HSETNX": true, "HINCRBY": true, "HDEL": true, "MSETNX": true, "MSET": true,
	"GET": false, "EXISTS": false, "TTL": false, "PTTL": false, "TYPE": false, "WATCH": false,
	"HGET": false, "HEXISTS": false, "HGETALL": false, "HLEN": false, "STRLEN": false,
}

// keyOf is the key that decides a command's slot, "" for commands without one,
// and whether the command writes. A script is taken to write.
func keyOf(cmd string, args []string) (key string, write bool) {
	if cmd == "EVAL" || cmd == "EVALSHA" {
		if len(args) > 3 && args[2] != "0" {
			key = args[3]
		}
		return key, true
	}
	write, known := keyed[cmd]
	if !known || len(args) < 2 {
		return "", false
	}
	return args[1], write
}
