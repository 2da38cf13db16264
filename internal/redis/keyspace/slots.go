package keyspace

import "strings"

// Slots is the number of slots of a Redis Cluster.
const Slots = 16384

// Owner is the group that owns a slot, where groups share the slots in equal runs.
// Groups count from 1.
func Owner(slot, groups int) int { return slot*groups/Slots + 1 }

// SlotsOf is the first and last slot of such a group.
func SlotsOf(group, groups int) (first, last int) {
	start := func(group int) int { return ((group-1)*Slots + groups - 1) / groups }
	return start(group), start(group+1) - 1
}

// SlotOf is the slot of a key: CRC16 (XMODEM) of its hash tag, or of the whole key
// without one. The Redis Cluster specification defines it under "Hash tags".
func SlotOf(key string) int {
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
	return int(crc) % Slots
}
