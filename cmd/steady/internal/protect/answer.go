package protect

import (
	"bytes"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// patch applies what was changed in the decoded form of raw, from before to after,
// to raw itself, so that what the decoded form does not have stays: before and after
// are encodings of it. known has elements of arrays as they were written, by their
// encoding.
func patch(raw, before, after []byte, known map[string][]byte) []byte {
	switch {
	case bytes.Equal(before, after):
		return raw
	case isObject(raw) && isObject(before) && isObject(after):
		return patchObject(raw, before, after, known)
	case kind(raw) == '[' && kind(before) == '[' && kind(after) == '[':
		return patchArray(raw, before, after, known)
	}
	return after
}

func kind(value []byte) byte {
	if value = bytes.TrimLeft(value, " \t\r\n"); len(value) > 0 {
		return value[0]
	}
	return 0
}

func isObject(value []byte) bool { return kind(value) == '{' }

func patchObject(raw, before, after []byte, known map[string][]byte) []byte {
	was, is := membersOf(before), membersOf(after)
	out := []byte{'{'}
	add := func(key, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		quoted, _ := rpc.Encode(string(key))
		out = append(append(append(out, quoted...), ':'), value...)
	}
	written := map[string]bool{}
	jsonl.Members(raw, func(key, value []byte) {
		name := string(key)
		now, stays := is[name]
		_, knew := was[name]
		switch {
		case written[name]:
		case stays:
			add(key, patch(value, was[name], now, known))
		case !knew: // the decoded form does not have it
			add(key, value)
		}
		written[name] = true
	})
	jsonl.Members(after, func(key, value []byte) {
		name := string(key)
		// What raw lacks and the encoding always has is no change.
		if !written[name] && !bytes.Equal(was[name], value) {
			add(key, patchNew(value, known))
		}
	})
	return append(out, '}')
}

// patchNew returns an array that raw does not have, with elements as they were
// written where they are known.
func patchNew(value []byte, known map[string][]byte) []byte {
	if kind(value) != '[' || len(known) == 0 {
		return value
	}
	return patchArray([]byte("[]"), []byte("[]"), value, known)
}

func patchArray(raw, before, after []byte, known map[string][]byte) []byte {
	wrote, was := elementsOf(raw), elementsOf(before)
	same := len(wrote) == len(was)
	at, named := map[string][]byte{}, map[string]int{}
	if same {
		for i, w := range was {
			at[string(w)] = wrote[i]
			if name := jsonl.Member(w, "name"); name != nil {
				named[string(name)] = i + 1
			}
		}
	}
	out := []byte{'['}
	i := 0
	jsonl.Elements(after, func(value []byte) {
		if i > 0 {
			out = append(out, ',')
		}
		switch {
		case same && i < len(was) && bytes.Equal(was[i], value):
			value = wrote[i]
		case at[string(value)] != nil:
			value = at[string(value)]
		case known[string(value)] != nil:
			value = known[string(value)]
		default:
			if j := named[string(jsonl.Member(value, "name"))]; j > 0 {
				value = patch(wrote[j-1], was[j-1], value, known)
			}
		}
		out = append(out, value...)
		i++
	})
	return append(out, ']')
}

func membersOf(object []byte) map[string][]byte {
	out := map[string][]byte{}
	jsonl.Members(object, func(key, value []byte) { out[string(key)] = value })
	return out
}

func elementsOf(array []byte) (out [][]byte) {
	array = bytes.TrimLeft(array, " \t\r\n")
	jsonl.Elements(array, func(value []byte) { out = append(out, value) })
	return out
}

// know adds the elements of an array to known.
func know(known map[string][]byte, raw, encoded []byte) {
	wrote, was := elementsOf(raw), elementsOf(encoded)
	if len(wrote) != len(was) {
		return
	}
	for i, w := range was {
		known[string(w)] = wrote[i]
	}
}
