package registry

import (
	"slices"
	"strings"
)

func (l *linter) checkCatalog() {
	p := l.profile
	if lim := p.Tools; lim.Max > 0 && len(l.tools) > lim.Max {
		l.sourced(lim.Source, "tools-too-many", nil, "", "there are %d tools; the client shows %d", len(l.tools), lim.Max)
	}
	if lim := p.Instructions; lim.Max > 0 && characters(l.listing.Instructions) > lim.Max {
		l.sourced(lim.Source, "instructions-long", nil, "", "the instructions have %d characters; the client takes %d", characters(l.listing.Instructions), lim.Max)
	}
	if r := invisible(l.listing.Instructions); r != 0 {
		l.found("text-invisible", nil, "", "the instructions contain an invisible character, U+%04X", r)
	}
	total, tokens := 0, 0
	for i := range l.tools {
		t := &l.tools[i]
		total += t.bytes
		tokens += t.tokens
		if p.Budget.ToolBytes > 0 && t.bytes > p.Budget.ToolBytes {
			l.sourced(p.Budget.Source, "budget-tool", t, "", "the definition has %d bytes; the budget is %d", t.bytes, p.Budget.ToolBytes)
		}
	}
	if p.Budget.Bytes > 0 && total > p.Budget.Bytes {
		l.sourced(p.Budget.Source, "budget-total", nil, "", "the catalog has %d bytes; the budget is %d", total, p.Budget.Bytes)
	} else if p.Budget.Tokens > 0 && tokens > p.Budget.Tokens {
		l.sourced(p.Budget.Source, "budget-total", nil, "", "the catalog has about %d tokens; the budget is %d", tokens, p.Budget.Tokens)
	}
	l.checkCRUD(total)
}

// crudVerbs are the verbs of endpoints, each with its operation.
var crudVerbs = map[string]string{
	"create": "create", "add": "create", "post": "create", "insert": "create", "new": "create",
	"get": "read", "read": "read", "retrieve": "read", "fetch": "read",
	"list":   "list",
	"update": "update", "patch": "update", "put": "update", "edit": "update", "modify": "update",
	"delete": "delete", "remove": "delete",
}

// checkCRUD finds catalogs that were generated from endpoints: three or more
// resources, each with three or more of create, read, list, update and delete,
// that make up a third of the tools.
func (l *linter) checkCRUD(total int) {
	operations := map[string]map[string]bool{}
	bytes := map[string]int{}
	count := map[string]int{}
	for i := range l.tools {
		t := &l.tools[i]
		words := slices.DeleteFunc(slices.Clone(t.own), func(w string) bool {
			return w == "a" || w == "an" || w == "the" || w == "by" || w == "id"
		})
		at := slices.IndexFunc(words, func(w string) bool { return crudVerbs[w] != "" })
		if at < 0 || len(words) < 2 {
			continue
		}
		op := crudVerbs[words[at]]
		rest := slices.Delete(words, at, at+1)
		for j := range rest {
			rest[j] = singular(rest[j])
		}
		resource := strings.Join(rest, " ")
		if operations[resource] == nil {
			operations[resource] = map[string]bool{}
		}
		operations[resource][op] = true
		bytes[resource] += t.bytes
		count[resource]++
	}
	var families []string
	tools, spent := 0, 0
	for r, ops := range operations {
		if len(ops) >= 3 {
			families = append(families, r)
			tools += count[r]
			spent += bytes[r]
		}
	}
	if len(families) < 3 || tools*3 < len(l.tools) {
		return
	}
	slices.Sort(families)
	// Measured on an order desk in both shapes: one task for each resource, each
	// with a definition half as long again as an endpoint's.
	perTool := spent / tools
	saving := max(spent-len(families)*perTool*3/2, 0)
	l.found("catalog-crud", nil, "", "%d of %d tools create, read, list, update or delete one of %d resources (%s); one task for each would save about %d of %d bytes, %d tokens a turn",
		tools, len(l.tools), len(families), shortList(families, 5), saving, total, saving/4)
}
