package registry

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// What is shorter says next to nothing: a line, without its name's words.
const (
	shortDescription = 40
	briefDescription = 80 // below this only its shortness is worth a remark
)

var (
	// saysWhen matches the words with which descriptions say when to use a tool.
	saysWhen = regexp.MustCompile(`(?i)\b(use|used|using|useful|when|whenever|call|before|after|if|instead|rather than|for (?:finding|getting|checking|looking|reading)|prefer|unless|only)\b`)
	// saysResult matches those with which they say what comes back.
	saysResult = regexp.MustCompile(`(?i)\b(returns?|returned|results?|responds?|outputs?|yields?|gives?|answers?|shows?|lists?|contains?|includes?|including|produces?|reports?|as (?:json|csv|text|markdown))\b`)
	// saysEffect matches those with which they say what an action costs.
	saysEffect = regexp.MustCompile(`(?i)(undo|undone|irrevers|revers|permanent|cannot be|can't be|recover|restore|confirm|destroy|lost|loses?\b|overwrit|without (?:asking|warning)|for good|discard|erase|wipe|archive|back(?:s|ed)? up|trash)`)
	// uniqueKey matches advice that makes a model invent a key for each try.
	uniqueKey = regexp.MustCompile(`(?i)(unique|new|fresh|random|different)\b[^.]{0,40}\b(?:for|per|on|in|with)\s+(?:every|each)\s+(?:request|call|attempt|invocation|time)|generate an?\s+(?:new |random |unique )?(?:uuid|guid)`)
	keyName   = regexp.MustCompile(`(?i)(idempot|request_?id|dedup|nonce|client_?token|_key$|^key$)`)
)

func (l *linter) checkTexts(t *lintedTool) {
	l.checkInvisible(t)
	d := strings.TrimSpace(t.description)
	n := len([]rune(d))
	switch {
	case n == 0:
		l.found("description-missing", t, "/description", "there is no description")
	case n < shortDescription || slices.Equal(nameWords(d), t.words):
		l.found("description-short", t, "/description", "the description has %d characters", n)
	case n < briefDescription && !saysWhen.MatchString(d) && !saysResult.MatchString(d):
		l.found("description-short", t, "/description", "the description has %d characters and says neither when to use the tool nor what it returns", n)
	default:
		if !saysWhen.MatchString(d) {
			l.found("description-no-when", t, "/description", "the description does not say when to use the tool")
		}
		if !saysResult.MatchString(d) && !t.doc.get("outputSchema").isObject() {
			l.found("description-no-result", t, "/description", "neither the description nor an output schema says what the tool returns")
		}
	}
	if lim := l.profile.Description; lim.Max > 0 && len(t.description) > lim.Max {
		l.sourced(lim.Source, "description-long", t, "/description", "the description has %d bytes; the client takes %d", len(t.description), lim.Max)
	}
}

// checkInvisible looks through every text of the definition.
func (l *linter) checkInvisible(t *lintedTool) {
	var visit func(d *document, pointer string) bool
	visit = func(d *document, pointer string) bool {
		if d.isString() {
			if r := invisible(d.string()); r != 0 {
				l.found("text-invisible", t, pointer, "there is an invisible character, U+%04X", r)
				return true
			}
		}
		for i, m := range d.members {
			below := fmt.Sprint(pointer, "/", i)
			if d.isObject() {
				below = pointer + "/" + escapePointer(d.keys[i])
				if r := invisible(d.keys[i]); r != 0 {
					l.found("text-invisible", t, pointer, "a name contains an invisible character, U+%04X", r)
					return true
				}
			}
			if visit(m, below) {
				return true
			}
		}
		return false
	}
	visit(t.doc, "")
}

// Hints.

// isDestructive reports whether a tool says that it destroys something, or,
// if it says nothing, whether its name does.
func (t *lintedTool) isDestructive() bool {
	a := t.doc.get("annotations")
	if a.get("readOnlyHint").isTrue() {
		return false
	}
	if h := a.get("destructiveHint"); h != nil {
		return h.isTrue()
	}
	return slices.ContainsFunc(t.words, func(w string) bool { return destructiveVerbs[w] })
}

var destructiveVerbs = map[string]bool{
	"delete": true, "remove": true, "drop": true, "purge": true, "destroy": true, "wipe": true, "erase": true, "truncate": true,
	"cancel": true, "revoke": true, "terminate": true, "overwrite": true,
}

func (d *document) isTrue() bool { return d != nil && d.scalar == "true" }

var confirmation = regexp.MustCompile(`(?i)^(confirm|confirmed|confirmation|dry_?run|force|preview|are_?you_?sure|acknowledge)`)

func (l *linter) checkHints(t *lintedTool) {
	a := t.doc.get("annotations")
	readOnly, destructive := a.get("readOnlyHint"), a.get("destructiveHint")
	switch {
	case readOnly.isTrue() && destructive.isTrue():
		l.found("hint-contradiction", t, "/annotations", "both readOnlyHint and destructiveHint are true")
	case !readOnly.isTrue() && destructive == nil:
		l.found("hint-missing", t, "/annotations", "neither readOnlyHint nor destructiveHint is decided")
	}
	if t.isDestructive() && !saysEffect.MatchString(t.description) && !slices.ContainsFunc(t.parameters(), func(p parameter) bool {
		return confirmation.MatchString(p.name)
	}) {
		l.found("destructive-unexplained", t, "/description", "the tool may destroy something; its description does not say whether that can be undone, and no parameter confirms it")
	}
}

// Parameters.

type parameter struct {
	name   string
	schema *document
}

func (t *lintedTool) parameters() []parameter {
	props := t.input.get("properties")
	if !props.isObject() {
		return nil
	}
	list := make([]parameter, len(props.keys))
	for i, k := range props.keys {
		list[i] = parameter{k, props.members[i]}
	}
	return list
}

var (
	listVerbs = map[string]bool{"list": true, "search": true, "browse": true}
	// bounding are names of parameters that bound how much comes back.
	bounding   = regexp.MustCompile(`(?i)^(limit|cursor|page|page_?size|page_?token|per_?page|page_?number|start_?cursor|next_?cursor|offset|max|max_?\w+|top|top_?k|first|last|count|take|size|batch_?size|num_?\w*|head|tail|n|k|\w*ids|limit_?\w*|\w+_?limit|head_?limit)$`)
	limitLike  = regexp.MustCompile(`(?i)^(limit|page_?size|per_?page|max_?results|max_?items|max_?count|top_?k|batch_?size|num_?results)$`)
	credential = regexp.MustCompile(`(?i)^(password|passwd|passphrase|secret|client_?secret|api_?key|apikey|api_?token|access_?token|auth_?token|bearer(?:_?token)?|refresh_?token|session_?token|private_?key|credentials?|authorization|auth_?header|cookie|token)$`)
	identity   = regexp.MustCompile(`(?i)^(current_?user(?:_?id)?|caller(?:_?id)?|acting_?(?:user|as)(?:_?id)?|as_?user|on_?behalf_?of|impersonate(?:_?\w+)?|authenticated_?user(?:_?id)?|my_?user_?id|tenant|tenant_?id|is_?admin|caller_?role)$`)
)

func (l *linter) checkParameters(t *lintedTool) {
	const at = "/inputSchema/properties/"
	var undescribed []string
	bounded := false
	for _, p := range t.parameters() {
		where := at + escapePointer(p.name)
		text := p.schema.get("description").string()
		if strings.TrimSpace(text) == "" && !p.schema.has("$ref") {
			undescribed = append(undescribed, p.name)
		}
		bounded = bounded || bounding.MatchString(p.name)
		if typ := p.schema.get("type"); limitLike.MatchString(p.name) && (isNumber(typ)) && !p.schema.has("maximum") && !p.schema.has("exclusiveMaximum") && !p.schema.has("enum") {
			l.found("limit-unbounded", t, where, "%s has no maximum", p.name)
		}
		if credential.MatchString(p.name) {
			l.found("parameter-credential", t, where, "%s looks like a credential", p.name)
		}
		if identity.MatchString(p.name) {
			l.found("parameter-identity", t, where, "%s looks like who is calling", p.name)
		}
		if keyName.MatchString(p.name) && uniqueKey.MatchString(text) {
			l.found("parameter-unique-key", t, where+"/description", "%s is to be new for each call", p.name)
		}
	}
	if len(undescribed) > 0 {
		l.found("parameter-description", t, strings.TrimSuffix(at, "/"), "without description: %s", shortList(undescribed, 8))
	}
	if l.listLike(t) && !bounded {
		l.found("list-unbounded", t, "/inputSchema", "the tool lists things and has no parameter like limit or cursor")
	}
}

func isNumber(typ *document) bool {
	switch typ.string() {
	case "integer", "number":
		return true
	}
	return typ.isArray() && slices.ContainsFunc(typ.members, isNumber)
}

// ownWords returns the words of a tool's name without the server's name or
// "api" before them.
func (l *linter) ownWords(t *lintedTool) []string {
	if len(t.words) > 2 && (t.words[0] == fold(l.server) || t.words[0] == "api") {
		return t.words[1:]
	}
	return t.words
}

// listLike reports whether the tool's verb is one of those that bring lists.
func (l *linter) listLike(t *lintedTool) bool {
	words := l.ownWords(t)
	return len(words) > 1 && listVerbs[words[0]]
}

func shortList(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// The catalog.

// checkDescriptions compares every description with the others.
func (l *linter) checkDescriptions() {
	const enough = 6 // words; shorter texts are alike by chance
	ids := map[string]int{}
	type text struct {
		tool  *lintedTool
		words []int // sorted, once each
	}
	var texts []text
	for i := range l.tools {
		t := &l.tools[i]
		var words []int
		for w := range strings.FieldsFuncSeq(strings.ToLower(t.description), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			id, ok := ids[w]
			if !ok {
				id = len(ids)
				ids[w] = id
			}
			words = append(words, id)
		}
		slices.Sort(words)
		words = slices.Compact(words)
		if len(words) >= enough {
			texts = append(texts, text{t, words})
		}
	}
	slices.SortStableFunc(texts, func(a, b text) int { return cmp.Compare(len(a.words), len(b.words)) })
	for i, a := range texts {
		for _, b := range texts[i+1:] {
			// Alike means that nine of ten words are shared.
			if len(a.words)*10 < len(b.words)*9 {
				break
			}
			n := shared(a.words, b.words)
			if n*10 >= (len(a.words)+len(b.words)-n)*9 {
				first, second := a.tool, b.tool
				if second.index < first.index {
					first, second = second, first
				}
				l.found("description-near-duplicate", second, "/description", "nearly the same description as %q", first.name)
			}
		}
	}
}

// shared counts what two sorted lists have in common.
func shared(a, b []int) (n int) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}

func (l *linter) checkCatalog() {
	p := l.profile
	if lim := p.Tools; lim.Max > 0 && len(l.tools) > lim.Max {
		l.sourced(lim.Source, "tools-too-many", nil, "", "there are %d tools; the client shows %d", len(l.tools), lim.Max)
	}
	if lim := p.Instructions; lim.Max > 0 && len(l.listing.Instructions) > lim.Max {
		l.sourced(lim.Source, "instructions-long", nil, "", "the instructions have %d bytes; the client takes %d", len(l.listing.Instructions), lim.Max)
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
		words := slices.DeleteFunc(slices.Clone(l.ownWords(t)), func(w string) bool {
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
