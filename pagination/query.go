package pagination

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
)

// follow takes over what the cursor says.
func (c *call[Q, T]) follow(token string) *rejectedCursor {
	from, r := c.opts.openCursor(token, c.tool, c.caller)
	if r != nil {
		return r
	}
	sent := c.sent()
	if from.digested {
		if from.query != digestQuery(c.queryJSON) {
			return rejected(CursorConflict, c.tool, "The cursor belongs to other filters than this call has").
				next("repeat the filters of the first call exactly, they are too long to travel in the cursor; or leave cursor out to start anew")
		}
	} else {
		if r := c.conflict(sent, from.query); r != nil {
			return r
		}
		query := c.query
		clearEncoded(reflect.ValueOf(&query).Elem())
		if err := json.Unmarshal([]byte(from.query), &query); err != nil {
			// Sealed by an older version of the program, with another Q.
			return rejected(CursorDamaged, c.tool, "The cursor was made by another version of the server")
		}
		c.query, c.queryJSON = query, from.query
	}
	c.position = from.position
	// The schema's default fills in a limit that the caller has not sent.
	if _, ok := sent["limit"]; !ok && sent != nil || c.limit == 0 {
		c.limit = min(from.limit, c.opts.Max)
	}
	return nil
}

func (r *rejectedCursor) next(format string, args ...any) *rejectedCursor {
	r.failure = r.failure.Next(format, args...)
	return r
}

// sent returns the arguments that the caller has really sent, by name: not
// those that a schema's default has filled in, and not those that hold
// nothing, as models write that fill in every parameter. It is nil if that is
// not known.
func (c *call[Q, T]) sent() map[string]string {
	s := trimSpace(string(c.arguments))
	if !isComposite(s) || s[0] != '{' {
		return nil
	}
	sent := map[string]string{}
	for w := walk(s); w.next(); {
		switch w.value {
		case "null", `""`, "[]", "{}":
		default:
			sent[unquote(w.key)] = w.value
		}
	}
	return sent
}

// conflict refuses a call whose arguments say something else than its cursor.
func (c *call[Q, T]) conflict(sent map[string]string, travelled string) *rejectedCursor {
	then, now := members(travelled), members(c.queryJSON)
	for w := walk(orEmpty(string(c.arguments))); w.next(); {
		name := unquote(w.key)
		value, ok := sent[name]
		before, known := then[name]
		if current, in := now[name]; in {
			value, known = current, true
		}
		if !ok || !known || sameJSON(orNull(before), value) || before == "" && isZeroJSON(value) {
			continue
		}
		r := rejected(CursorConflict, c.tool, "The cursor belongs to a call with %s, and this one says %s = %s",
			is(name, before), name, shorten(value, 60))
		return r.next("leave %s out to go on with the next page, or leave cursor out to start anew", name)
	}
	return nil
}

func is(name, value string) string {
	if value == "" {
		return "no " + name
	}
	return name + " = " + shorten(value, 60)
}

func orNull(s string) string  { return cmp.Or(s, "null") }
func orEmpty(s string) string { return cmp.Or(trimSpace(s), "{}") }

func isZeroJSON(value string) bool {
	switch value {
	case "null", "false", "0", `""`, "[]", "{}":
		return true
	}
	return false
}

// members returns the members of an object by name; of anything else, none.
func members(s string) map[string]string {
	m := map[string]string{}
	if !isComposite(s) || s[0] != '{' {
		return m
	}
	for w := walk(s); w.next(); {
		m[unquote(w.key)] = w.value
	}
	return m
}

// encodeQuery returns the query as JSON, without the parameters of [Input] in
// case that the query is a tool's whole input.
func encodeQuery(query any) (string, error) {
	data, err := json.Marshal(query)
	if err != nil {
		return "", fmt.Errorf("pagination: encoding the query: %w", err)
	}
	s := string(data)
	if s[0] != '{' {
		return s, nil
	}
	kept := []byte{'{'}
	for w := walk(s); w.next(); {
		if w.key == `"limit"` || w.key == `"cursor"` {
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(append(kept, w.key...), ':'), w.value...)
	}
	return string(append(kept, '}')), nil
}

// clearEncoded sets to zero what encoding/json reads into v, and leaves the
// rest: unexported fields, and those tagged "-".
func clearEncoded(v reflect.Value) {
	if v.Kind() != reflect.Struct || v.Addr().Type().Implements(reflect.TypeFor[json.Unmarshaler]()) {
		if v.CanSet() {
			v.SetZero()
		}
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		// The exported fields of an embedded struct are read even where the
		// struct's own name is unexported.
		if field.Tag.Get("json") != "-" && (field.IsExported() || field.Anonymous) {
			clearEncoded(v.Field(i))
		}
	}
}

func digestQuery(query string) string {
	d := digestOf(query)
	return string(d[:])
}
