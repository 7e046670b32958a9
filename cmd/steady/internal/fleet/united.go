package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/steadymcp/steady/cmd/steady/internal/jsonl"
	"github.com/steadymcp/steady/cmd/steady/internal/rpc"
)

// aboutUs appends the capabilities and the instructions of all.
func (f *fleet) aboutUs(out []byte, there []*child, incomplete bool) []byte {
	all := map[string]json.RawMessage{}
	for _, c := range there {
		if h := c.greeting(); h != nil {
			all = unite(all, h.capabilities, 0)
		}
	}
	// Servers come and go, and with them what they have.
	for _, k := range kinds {
		if k.changed != "" && (all[k.capability] != nil || incomplete) {
			all = unite(all, fmt.Appendf(nil, `{%q:{"listChanged":true}}`, k.capability), 0)
		}
	}
	capabilities, _ := json.Marshal(all)
	out = append(append(out, `,"capabilities":`...), capabilities...)
	if text := instructions(there); text != "" {
		out = append(append(out, `,"instructions":`...), rpc.Quote(text)...)
	}
	return out
}

// maxUnited is how deep capabilities are united. Below, the first says.
const maxUnited = 8

// unite adds the members of an object to those of another. What both have is
// united if both have objects; of true and something else, true stays.
func unite(all map[string]json.RawMessage, more []byte, depth int) map[string]json.RawMessage {
	var add map[string]json.RawMessage
	if json.Unmarshal(more, &add) != nil {
		return all
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for key, value := range add {
		old, ok := all[key]
		switch {
		case !ok || string(value) == "true":
			all[key] = value
		case depth < maxUnited && isObject(old) && isObject(value):
			var both map[string]json.RawMessage
			_ = json.Unmarshal(old, &both)
			all[key], _ = json.Marshal(unite(both, value, depth+1))
		}
	}
	return all
}

func isObject(value []byte) bool { return len(value) > 0 && value[0] == '{' }

// maxInstructions bounds the instructions of all servers, in bytes.
const maxInstructions = 16 << 10

// instructions joins those of the children, each under its name.
func instructions(there []*child) string {
	var b strings.Builder
	for _, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		text, _ := jsonl.Text(orNull(jsonl.Member(h.result, "instructions")))
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if limit := maxInstructions / len(there); len(text) > limit {
			for limit > 0 && !utf8.RuneStart(text[limit]) {
				limit--
			}
			text = text[:limit] + " [cut]"
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("## " + c.Name + "\n\n" + text)
	}
	return b.String()
}

func (f *fleet) info() []byte {
	info, _ := json.Marshal(map[string]string{"name": "steady-proxy", "title": "Steady proxy", "version": f.opts.Version})
	return info
}

// listServers says who is behind us.
func listServers(there []*child) []byte {
	out := []byte{'['}
	for _, c := range there {
		h := c.greeting()
		if h == nil {
			continue
		}
		info := jsonl.Member(h.result, "serverInfo")
		if info == nil {
			info = jsonl.Member(jsonl.Member(h.result, "_meta"), metaServerInfo)
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `{"name":%q`, c.Name)
		if info != nil && len(info) <= 4<<10 {
			out = append(append(out, `,"serverInfo":`...), info...)
		}
		out = append(out, '}')
	}
	return append(out, ']')
}

// appendCaching appends how long what several servers have said may be kept:
// as long as the most cautious of them allows.
func appendCaching(out []byte, said [][]byte) []byte {
	ttl, scope := int64(-1), "public"
	for _, s := range said {
		n, ok := toNumber(orNull(jsonl.Member(s, "ttlMs")))
		if !ok {
			n = 0
		}
		if ttl < 0 || n < ttl {
			ttl = n
		}
		if v := jsonl.Member(s, "cacheScope"); v != nil && string(v) != `"public"` {
			scope = "private"
		}
	}
	return fmt.Appendf(out, `,"ttlMs":%d,"cacheScope":%q`, max(ttl, 0), scope)
}
