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

// slotOf is the slot of a key: CRC16 (XMODEM) of its hash tag, or of the whole key
// without one. The Redis Cluster specification defines it under "Hash tags".
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
