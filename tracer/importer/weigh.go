package importer

import (
	"encoding/binary"
	"errors"
)

// maxProfileMemory bounds what a profile takes once it is read: a sample of two
// bytes in the file is a structure of more than a hundred.
const maxProfileMemory = 512 << 20

var errHeavy = errors.New(
	"a profile of more samples, places and functions than can be kept; write it with fewer stacks")

// Fields of a profile, by their numbers in profile.proto.
const (
	fieldSample, fieldMapping, fieldLocation, fieldFunction, fieldString = 2, 3, 4, 5, 6
	fieldSampleLabel, fieldLocationLine                                  = 3, 4
)

// What one message takes in memory, in bytes, with what points to it.
const (
	perSample, perMapping, perLocation, perFunction, perString = 160, 128, 128, 112, 24
	perLabel, perLine, perNumber                               = 96, 48, 16
)

// weighProfile refuses a profile that would take too much memory, before
// anything is made of it. It adds up the messages, from above; damage is left to
// the library.
func weighProfile(data []byte) error {
	total := int64(0)
	eachField(data, func(field uint64, body []byte, inside bool) {
		switch {
		case !inside:
			total += perNumber
		case field == fieldSample:
			total += perSample + weighInside(body, fieldSampleLabel, perLabel)
		case field == fieldLocation:
			total += perLocation + weighInside(body, fieldLocationLine, perLine)
		case field == fieldMapping:
			total += perMapping
		case field == fieldFunction:
			total += perFunction
		case field == fieldString:
			total += perString + int64(len(body))
		default: // sample types, comments: numbers in a row at the most
			total += perMapping + perNumber*int64(len(body))
		}
	})
	if total > maxProfileMemory {
		return errHeavy
	}
	return nil
}

// weighInside weighs a sample's or a location's own fields: messages of one
// kind, and numbers, each in a field or many in one.
func weighInside(data []byte, message uint64, perMessage int64) (total int64) {
	eachField(data, func(field uint64, body []byte, inside bool) {
		switch {
		case inside && field == message:
			total += perMessage
		case inside:
			total += perNumber * int64(len(body))
		default:
			total += perNumber
		}
	})
	return total
}

// eachField calls f for the fields of a message, as far as they can be told.
// inside is false for a plain number, which has no body.
func eachField(data []byte, f func(field uint64, body []byte, inside bool)) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data = data[n:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			if _, n = binary.Uvarint(data); n <= 0 {
				return
			}
			data = data[n:]
			f(tag>>3, nil, false)
			continue
		case 1:
			size = 8
		case 5:
			size = 4
		case 2:
			if size, n = binary.Uvarint(data); n <= 0 {
				return
			}
			data = data[n:]
		default:
			return
		}
		if size > uint64(len(data)) {
			return
		}
		f(tag>>3, data[:size], true)
		data = data[size:]
	}
}
