package redisstore

import "bytes"

// slots is how many parts the keys of a cluster fall into.
const slots = 16384

// slotOf is the part that a key belongs to: its CRC16, or that of the text between the
// first { and the next }, if there is any.
func slotOf(key []byte) int {
	if from := bytes.IndexByte(key, '{'); from >= 0 {
		if to := bytes.IndexByte(key[from+1:], '}'); to > 0 {
			key = key[from+1 : from+1+to]
		}
	}
	crc := uint16(0)
	for _, b := range key {
		crc = crc<<8 ^ crc16[byte(crc>>8)^b]
	}
	return int(crc % slots)
}

// crc16 is the table of the CRC with the polynomial x^16 + x^12 + x^5 + 1.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		table[i] = crc
	}
	return table
}()
