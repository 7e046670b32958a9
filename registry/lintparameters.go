package registry

import (
	"regexp"
	"slices"
	"strings"
)

// A parameter is a property of the arguments, or of an object among them.
type parameter struct {
	name   string
	schema *document
}

// parameters returns those at the top.
func (t *lintedTool) parameters() []parameter { return propertiesOf(t.input) }

func propertiesOf(s *document) []parameter {
	props := s.get("properties")
	if !props.isObject() {
		return nil
	}
	list := make([]parameter, len(props.keys))
	for i, k := range props.keys {
		list[i] = parameter{k, props.members[i]}
	}
	return list
}

// forms returns the schema itself, what it refers to, and its alternatives: the
// places where something may be said of the parameter.
func (p parameter) forms(root *document, refs *references) []*document {
	forms := []*document{p.schema}
	if to := refs.resolve(root, p.schema); to != p.schema {
		forms = append(forms, to)
	}
	for _, s := range slices.Clone(forms) {
		for _, k := range []string{"anyOf", "oneOf", "allOf"} {
			if branches := s.get(k); branches.isArray() {
				for _, b := range branches.members[:min(len(branches.members), 16)] {
					forms = append(forms, refs.resolve(root, b))
				}
			}
		}
	}
	return forms
}

var (
	// bounding are names of parameters that bound how much comes back.
	bounding = regexp.MustCompile(`(?i)^(limit|cursor|page|page_?size|page_?token|per_?page|page_?number|page_?info|page_?limit|start_?cursor|next_?cursor|next_?token|continuation_?token|continue|marker|after|before|start_?index|skip|offset|pagination|paging|max|max_?\w+|top|top_?k|first|last|count|take|rows|size|batch_?size|num_?\w*|head|tail|n|k|\w*ids|limit_?\w*|\w+_?limit|head_?limit)$`)
	// limitLike are those of them that say how much.
	limitLike = regexp.MustCompile(`(?i)^(limit|page_?size|page_?limit|per_?page|max_?(?:results|items|count|rows|records|entries)|results?_?limit|top_?k|top|first|take|rows|batch_?size|num_?(?:results|items|rows|records))$`)
	identity  = regexp.MustCompile(`(?i)^(current_?user(?:_?id)?|caller(?:_?id)?|acting_?(?:user|as)(?:_?id)?|as_?user|run_?as(?:_?user)?|on_?behalf_?of|impersonate(?:_?\w+)?|effective_?user(?:_?id)?|authenticated_?user(?:_?id)?|my_?user_?id|tenant|tenant_?id|is_?admin|caller_?role)$`)

	// uniqueKey matches advice that makes a model invent a key for each try.
	uniqueKey = regexp.MustCompile(`(?i)\b(unique|new|fresh|random|different)\b[^.;]{0,40}\b(?:(?:for|on|in|with|to)\s+(?:every|each|any)|per)\s+(?:single\s+)?(?:request|call|attempt|invocation|time|try|retry)\b|generate an?\s+(?:new |random |fresh |unique )*(?:uuid|guid|value|key)\b|\b(?:never|not|n't)\s+(?:be\s+)?re-?used?\b`)
	// keepsKey matches advice to use it again, which makes it right.
	keepsKey  = regexp.MustCompile(`(?i)(\bnever |\bnot |n't )?(?:be )?\b(?:the same|identical|re-?use|keep)\b`)
	keyName   = regexp.MustCompile(`(?i)(idempot|request_?id|dedup|nonce|client_?token|_key$|^key$)`)
	listVerbs = map[string]bool{"list": true, "search": true, "browse": true}
)

// maxNested is how deep objects among the arguments are searched for what no
// parameter should be.
const maxNested = 3

func (l *linter) checkParameters(t *lintedTool) {
	const at = "/inputSchema/properties/"
	var refs references
	var undescribed []string
	bounded := false
	for _, p := range t.parameters() {
		where := at + escapePointer(p.name)
		forms := p.forms(t.input, &refs)
		text := ""
		for _, f := range forms {
			if text == "" {
				text = strings.TrimSpace(f.get("description").string())
			}
			bounded = bounded || slices.ContainsFunc(propertiesOf(f), func(p parameter) bool { return bounding.MatchString(p.name) })
		}
		lost := p.schema.has("$ref") && len(forms) == 1 // which is a finding of its own
		if text == "" && !lost {
			undescribed = append(undescribed, p.name)
		}
		bounded = bounded || bounding.MatchString(p.name)
		if limitLike.MatchString(p.name) && isUnboundedNumber(forms) {
			l.found("limit-unbounded", t, where, "%s has no maximum", p.name)
		}
		l.checkCredentials(t, p, text, where, &refs, 0)
		if identity.MatchString(p.name) {
			l.found("parameter-identity", t, where, "%s looks like who is calling", p.name)
		}
		if keyName.MatchString(p.name) && adviseUniqueKey(text) {
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

func adviseUniqueKey(text string) bool {
	if !uniqueKey.MatchString(text) {
		return false
	}
	for _, m := range keepsKey.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			return false
		}
	}
	return true
}

// isUnboundedNumber reports whether a parameter is a number and nothing says how
// large.
func isUnboundedNumber(forms []*document) bool {
	numeric := false
	for _, f := range forms {
		types, _ := typesAt(f)
		numeric = numeric || slices.Contains(types, "integer") || slices.Contains(types, "number")
		if slices.ContainsFunc([]string{"maximum", "exclusiveMaximum", "enum", "const"}, f.has) {
			return false
		}
	}
	return numeric
}

// listLike reports whether the tool's name says that it brings a list.
func (l *linter) listLike(t *lintedTool) bool {
	if len(t.own) < 2 {
		return false
	}
	first, last := t.own[0], t.own[len(t.own)-1]
	plural := func(w string) bool { return singular(w) != w }
	switch {
	case slices.ContainsFunc(t.own, func(w string) bool { return settled[w] }):
		return false
	case listVerbs[first]:
		return true
	case first == "find":
		return plural(last)
	case readingVerbs[first]:
		return t.own[1] == "all"
	case last == "list" || last == "listing": // orders_list, but not update_price_list
		return plural(t.own[len(t.own)-2])
	case last == "search": // web_search, but not save_search
		return crudVerbs[first] == "" && !destructiveVerbs[first] && len(t.own) == 2 && !searchVerbs[first]
	}
	return false
}

// settled are words for what the server's own code or configuration says, which
// does not grow with the data: list_allowed_directories.
var settled = map[string]bool{"allowed": true, "supported": true, "available": true, "configured": true, "enabled": true, "builtin": true}

// searchVerbs are what is done to a search.
var searchVerbs = map[string]bool{"save": true, "run": true, "start": true, "stop": true, "open": true, "close": true, "share": true, "export": true, "rename": true, "execute": true}

// Credentials.

var (
	secretWords = map[string]bool{
		"password": true, "passwords": true, "passwd": true, "passphrase": true, "secret": true, "secrets": true, "apikey": true,
		"credential": true, "credentials": true, "cookie": true, "cookies": true, "authorization": true, "bearer": true, "jwt": true,
	}
	secretKeys = map[string]bool{"api": true, "access": true, "secret": true, "private": true, "auth": true, "signing": true, "encryption": true, "master": true}
	// harmlessTokens are words before "token" that make it no credential.
	harmlessTokens = map[string]bool{
		"page": true, "next": true, "prev": true, "previous": true, "cursor": true, "continuation": true, "continue": true, "sync": true,
		"resume": true, "start": true, "last": true, "scroll": true, "pagination": true, "paging": true, "delta": true, "change": true,
		"max": true, "min": true, "stop": true, "eos": true, "bos": true, "pad": true, "mask": true, "special": true, "input": true, "output": true,
		"symbol": true, "crypto": true, "base": true, "quote": true, "nft": true, "from": true, "to": true, "design": true, "device": true, "push": true,
		"confirm": true, "confirmation": true, "csrf": true, "idempotency": true, "client": true, "progress": true, "list": true, "query": true,
	}
	// notSecret matches descriptions of what is called like a credential and is
	// none: a place in a list, a currency, a word, a name that a secret has.
	notSecret = regexp.MustCompile(`(?i)\b(?:page|cursor|continu\w*|resum\w*|pagina\w*|symbols?|coins?|contract|crypto\w*|mint|ticker|wallets?|erc-?\d+|nfts?|words?|lexical|vocabulary|currency)\b|\bnext (?:set|batch|results?)\b|\b(?:names?|ids?|identifiers?|paths?|arns?|references?|labels?|types?|kinds?|methods?) of\b`)
)

// checkCredentials looks for secrets among the arguments, and in objects among
// them.
func (l *linter) checkCredentials(t *lintedTool, p parameter, text, where string, refs *references, depth int) {
	if p.isCredential(text) {
		l.found("parameter-credential", t, where, "%s looks like a credential", p.name)
		return
	}
	if depth >= maxNested {
		return
	}
	for _, inner := range propertiesOf(refs.resolve(t.input, p.schema)) {
		if refs.followed++; refs.followed > maxFollowed {
			return
		}
		l.checkCredentials(t, inner, inner.schema.get("description").string(), where+"/properties/"+escapePointer(inner.name), refs, depth+1)
	}
}

func (p parameter) isCredential(text string) bool {
	words := nameWords(p.name)
	if len(words) == 0 {
		return false
	}
	if types, _ := typesAt(p.schema); len(types) > 0 && !slices.Contains(types, "string") && !slices.Contains(types, "object") {
		return false // has_password, max_tokens
	}
	if p.schema.has("enum") || notSecret.MatchString(text) {
		return false
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case secretWords[last]:
		return true
	case last == "key":
		return secretKeys[before]
	case last == "token":
		return !harmlessTokens[before]
	case last == "header":
		return before == "auth" || secretWords[before]
	}
	return false
}
