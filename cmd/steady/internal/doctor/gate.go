package doctor

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// A Gate decides what may be called. The zero Gate lets through tools that are
// annotated as reading, and, with valid arguments only, those annotated as
// repeatable without destroying anything.
type Gate struct {
	Write       bool     // also tools that write
	Destructive bool     // also tools that destroy, and those that say nothing
	Vouched     []string // tools that the user says may be called
	Never       []string // tools that are not called whatever else is said
}

// A class is what a tool does, by its annotations.
type class string

const (
	reads      class = "reads"
	repeatable class = "repeatable"
	writes     class = "writes"
	destroys   class = "destroys"
	unknown    class = "unknown"
)

// leave is what may be done with a tool.
type leave int

const (
	nothing leave = iota
	gently        // valid calls, repeated ones too
	freely        // whatever a probe wants
)

type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
}

// effects are words of names that no harmless tool has: whatever a server says
// about one that has them, it is not believed.
var effects = []string{
	"delete", "remove", "drop", "destroy", "purge", "wipe", "truncate", "erase", "kill", "terminate", "reset", "revoke",
	"send", "pay", "transfer", "charge", "refund", "buy", "publish", "deploy", "shutdown", "restart", "exec", "execute",
}

// asking are first words of names after which an effect is what is asked about:
// get_reset_date, list_send_jobs.
var asking = []string{
	"get", "list", "search", "find", "read", "show", "view", "describe", "count", "check", "fetch", "lookup", "query", "is", "has",
}

// soundsHarmful reports whether a name says that a tool does more than it is
// annotated with, wherever in it: delete_order, orders.delete, bulkDelete.
func soundsHarmful(name string) bool {
	words := words(name)
	if len(words) > 0 && slices.Contains(asking, words[0]) {
		return false
	}
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(effects, w) })
}

// classify says what a tool does. It believes annotations, as the defaults of
// the specification have it: without a hint a tool may destroy. It believes none
// that says less than the name does.
func classify(name string, a *annotations) class {
	is := func(b *bool) bool { return b != nil && *b }
	switch {
	case a == nil || a.ReadOnly == nil && a.Destructive == nil && a.Idempotent == nil:
		return unknown
	case is(a.Destructive) || a.Destructive == nil && !is(a.ReadOnly):
		return destroys
	case soundsHarmful(name):
		return unknown
	case is(a.ReadOnly):
		return reads
	case is(a.Idempotent):
		return repeatable
	}
	return writes
}

// words splits a name: search_orders, searchOrders, search-orders.
func words(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// decide says what may be done with a tool, and if nothing, why.
func (g *Gate) decide(name string, c class) (leave, string) {
	switch {
	case slices.Contains(g.Never, name):
		return nothing, "-skip"
	case slices.Contains(g.Vouched, name) || c == reads:
		return freely, ""
	case c == repeatable && !g.Write && !g.Destructive:
		return gently, ""
	case (c == repeatable || c == writes) && (g.Write || g.Destructive):
		return freely, ""
	case c == writes:
		return nothing, "it writes; -write or -call allows it"
	case g.Destructive:
		return freely, ""
	case c == destroys:
		return nothing, "it may destroy; -destructive or -call allows it"
	}
	return nothing, "its annotations do not say that it only reads; -destructive or -call allows it"
}

func parseAnnotations(raw json.RawMessage) *annotations {
	var a *annotations
	if json.Unmarshal(raw, &a) != nil {
		return nil
	}
	return a
}
