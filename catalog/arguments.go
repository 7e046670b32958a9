package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/steadymcp/steady/errors"
)

const (
	maxArgumentBytes = 256 << 10
	maxArgumentDepth = 64
)

// decodeObject decodes a JSON object exactly: keys are not folded, a key that
// stands twice is refused, numbers keep their digits as json.Number. Empty and
// null are the empty object.
func decodeObject(raw json.RawMessage) (map[string]any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return map[string]any{}, nil
	}
	if len(raw) > maxArgumentBytes {
		return nil, fmt.Errorf("%d bytes, more than %d", len(raw), maxArgumentBytes)
	}
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("not a JSON object")
	}
	return m, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxArgumentDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxArgumentDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("not valid JSON")
	}
	delim, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := decodeValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, closing(d)
	}
	m := map[string]any{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("not valid JSON")
		}
		name := k.(string) // a decoder accepts no other keys
		if _, ok := m[name]; ok {
			return nil, fmt.Errorf("the key %q stands twice", clip(name, 60))
		}
		if m[name], err = decodeValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	return m, closing(d)
}

func closing(d *json.Decoder) error {
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("not valid JSON")
	}
	return nil
}

// validatable returns a copy of a decoded value with numbers of Go's types,
// which the validator understands.
func validatable(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		if u, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return u
		}
		f, err := v.Float64()
		if err != nil {
			return v.String() // beyond any number: it fits no numeric type
		}
		return f
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = validatable(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = validatable(v[k])
		}
		return out
	}
	return v
}

// arguments decodes and checks arguments. Properties that are absent and have
// a default get it.
func (op *operation) arguments(raw json.RawMessage) (map[string]any, *errors.Failure) {
	args, err := decodeObject(raw)
	if err != nil {
		return nil, op.invalid("%s", err.Error())
	}
	for name, s := range op.schema.Properties {
		if _, ok := args[name]; !ok && s != nil && len(s.Default) > 0 {
			d := json.NewDecoder(bytes.NewReader(s.Default))
			d.UseNumber()
			if v, err := decodeValue(d, 0); err == nil {
				args[name] = v
			}
		}
	}
	for name := range args {
		if op.known[name] == nil && !op.open && op.Path != "" {
			return nil, op.invalid("there is no parameter %q", clip(name, 60)) // nobody asked for it to be sent
		}
	}
	plain := validatable(args)
	if !op.checked.bearable(plain) {
		return nil, op.invalid("they are too many to be checked")
	}
	if err := op.resolved.Validate(plain); err != nil {
		return nil, op.invalid("%s", violation(err))
	}
	return args, nil
}

func (op *operation) invalid(format string, args ...any) *errors.Failure {
	return errors.Invalid("the arguments of %s do not fit", op.ID).Because(format, args...).Next("%s", op.usage())
}

// violation shortens a validator's message to the innermost place and reason.
func violation(err error) string {
	parts := strings.Split(err.Error(), ": ")
	place := ""
	for len(parts) > 1 && strings.HasPrefix(parts[0], "validating ") {
		if p := strings.TrimPrefix(parts[0], "validating "); p != "root" {
			place = strings.TrimPrefix(strings.ReplaceAll(p, "/properties/", "."), ".")
		}
		parts = parts[1:]
	}
	text := strings.NewReplacer("/1 is", " is", ".000000", "").Replace(strings.Join(parts, ": ")) // numbers as fractions
	if place != "" {
		text = place + ": " + text
	}
	return clip(text, 300)
}

// usage says in one sentence which arguments an entry takes.
func (op *operation) usage() string {
	if op.ID == freePath {
		return "check the path and its query"
	}
	if len(op.known) == 0 {
		return op.ID + " takes no arguments"
	}
	names := slices.Collect(maps.Keys(op.known))
	slices.SortFunc(names, func(a, b string) int {
		if ra, rb := slices.Contains(op.schema.Required, a), slices.Contains(op.schema.Required, b); ra != rb {
			if ra {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var list []string
	for i, name := range names {
		if i == 12 {
			list = append(list, fmt.Sprintf("and %d more", len(names)-i))
			break
		}
		list = append(list, name+constraint(op.known[name], slices.Contains(op.schema.Required, name)))
	}
	return clip("give "+strings.Join(list, ", "), 1200)
}

// constraint describes what a parameter accepts, in brackets.
func constraint(s *jsonschema.Schema, required bool) string {
	var list []string
	if required {
		list = append(list, "required")
	}
	if s != nil {
		switch {
		case len(s.Enum) > 0:
			var values []string
			for i, v := range s.Enum {
				if i == 8 {
					values = append(values, "...")
					break
				}
				values = append(values, clip(fmt.Sprint(v), 40))
			}
			list = append(list, "one of "+strings.Join(values, " | "))
		case s.Format != "":
			list = append(list, clip(s.Format, 30))
		case s.Type != "":
			list = append(list, s.Type)
		}
		if s.Minimum != nil {
			list = append(list, "from "+number(*s.Minimum))
		}
		if s.Maximum != nil {
			list = append(list, "at most "+number(*s.Maximum))
		}
		if s.MinLength != nil {
			list = append(list, fmt.Sprintf("at least %d characters", *s.MinLength))
		}
		if s.MaxLength != nil {
			list = append(list, fmt.Sprintf("at most %d characters", *s.MaxLength))
		}
		if s.Pattern != "" {
			list = append(list, "matching "+clip(s.Pattern, 60))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
