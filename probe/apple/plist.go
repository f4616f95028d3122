package apple

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The bounds of a property list: one accelerator's statistics are some KiB.
const (
	maxPlist = 8 << 20
	maxDepth = 64
)

// parsePlist reads a property list in XML, as CFPropertyListCreateData and
// ioreg -a write it, or in Apple's binary form, as built bundles have it. A
// dictionary becomes map[string]any, an array []any, an integer int64 (uint64
// beyond it), a real float64, a string string, a date the same in XML and a
// float64 in the binary form, data nil: nothing here needs it.
func parsePlist(b []byte) (any, error) {
	if len(b) > maxPlist {
		return nil, fmt.Errorf("property list: %d B, more than %d", len(b), maxPlist)
	}
	if isBinaryPlist(b) {
		v, err := parseBinaryPlist(b)
		if err != nil {
			return nil, fmt.Errorf("property list: %w", err)
		}
		return v, nil
	}
	p := plistReader{xml.NewDecoder(bytes.NewReader(b))}
	p.Strict = true
	for {
		start, err := p.next()
		if err != nil {
			return nil, fmt.Errorf("property list: %w", err)
		}
		if start == nil {
			return nil, errors.New("property list: nothing in it")
		}
		if start.Name.Local == "plist" {
			continue
		}
		v, err := p.value(start, 0)
		if err != nil {
			return nil, fmt.Errorf("property list: %w", err)
		}
		return v, nil
	}
}

type plistReader struct{ *xml.Decoder }

// next is the start of the next element, nil at the end of the one around it.
func (p plistReader) next() (*xml.StartElement, error) {
	for {
		t, err := p.Token()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			return &t, nil
		case xml.EndElement:
			return nil, nil
		}
	}
}

// text is the text up to the end of the element.
func (p plistReader) text() (string, error) {
	var b strings.Builder
	for {
		t, err := p.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			return "", fmt.Errorf("<%s> where text was expected", t.Name.Local)
		case xml.EndElement:
			return b.String(), nil
		}
	}
}

func (p plistReader) value(start *xml.StartElement, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d levels", maxDepth)
	}
	switch start.Name.Local {
	case "dict":
		return p.dict(depth)
	case "array":
		return p.array(depth)
	}
	s, err := p.text()
	if err != nil {
		return nil, err
	}
	switch start.Name.Local {
	case "string", "date":
		return s, nil
	case "data":
		return nil, nil
	case "true", "false":
		return start.Name.Local == "true", nil
	case "integer":
		return integer(strings.TrimSpace(s))
	case "real":
		return strconv.ParseFloat(strings.TrimSpace(s), 64)
	}
	return nil, fmt.Errorf("<%s> is not known", start.Name.Local)
}

// integer is int64, or uint64 for what lies beyond: some counters wrap below
// zero and are written as such.
func integer(s string) (any, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return n, nil
	}
	return strconv.ParseUint(s, 0, 64)
}

func (p plistReader) dict(depth int) (map[string]any, error) {
	d := map[string]any{}
	for {
		key, err := p.next()
		if err != nil || key == nil {
			return d, err
		}
		if key.Name.Local != "key" {
			return nil, fmt.Errorf("<%s> where a key was expected", key.Name.Local)
		}
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		start, err := p.next()
		if err != nil {
			return nil, err
		}
		if start == nil {
			return nil, fmt.Errorf("key %q without a value", name)
		}
		if d[name], err = p.value(start, depth+1); err != nil {
			return nil, err
		}
	}
}

func (p plistReader) array(depth int) ([]any, error) {
	list := []any{}
	for {
		start, err := p.next()
		if err != nil || start == nil {
			return list, err
		}
		v, err := p.value(start, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}
