package registry

import (
	"regexp"
	"slices"
)

// saysEffect matches the words with which a description says what an action
// costs.
var saysEffect = regexp.MustCompile(`(?i)(undo|undone|irrevers|revers|permanent|cannot be|can't be|recover|restore|confirm|destroy|lost|loses?\b|overwrit|without (?:asking|warning)|for good|discard|erase|wipe|archive|back(?:s|ed)? up|trash)`)

var (
	destructiveVerbs = map[string]bool{
		"delete": true, "remove": true, "drop": true, "purge": true, "destroy": true, "wipe": true, "erase": true, "truncate": true,
		"cancel": true, "revoke": true, "terminate": true, "overwrite": true,
	}
	// deletingVerbs are those of them that a tool which only reads is never
	// named after. (remove_background makes a new picture.)
	deletingVerbs = map[string]bool{"delete": true, "purge": true, "destroy": true, "wipe": true, "revoke": true, "terminate": true}
	readingVerbs  = map[string]bool{
		"get": true, "list": true, "search": true, "find": true, "read": true, "show": true, "view": true, "describe": true, "fetch": true,
		"query": true, "count": true, "check": true, "lookup": true, "look": true, "browse": true, "inspect": true, "preview": true,
		"validate": true, "retrieve": true, "explain": true, "summarize": true, "is": true, "has": true,
	}
	confirmation = regexp.MustCompile(`(?i)^(confirm|confirmed|confirmation|dry_?run|force|preview|are_?you_?sure|acknowledge)`)
)

// verb returns the word that says what a tool does, if it stands first.
func (t *lintedTool) verb() string {
	if len(t.own) == 0 {
		return ""
	}
	return t.own[0]
}

// isDestructive reports whether a tool says that it destroys something, or,
// if it says nothing, whether its name does.
func (t *lintedTool) isDestructive() bool {
	a := t.doc.get("annotations")
	if a.get("readOnlyHint").isTrue() {
		return false
	}
	if h := a.get("destructiveHint"); h.isBool() {
		return h.isTrue()
	}
	return !readingVerbs[t.verb()] && slices.ContainsFunc(t.own, func(w string) bool { return destructiveVerbs[w] })
}

func (d *document) isTrue() bool { return d != nil && d.scalar == "true" }

func (l *linter) checkHints(t *lintedTool) {
	a := t.doc.get("annotations")
	readOnly, destructive := a.get("readOnlyHint"), a.get("destructiveHint")
	switch {
	case readOnly.isTrue() && destructive.isTrue():
		l.found("hint-contradiction", t, "/annotations", "both readOnlyHint and destructiveHint are true")
	case readOnly.isTrue() && deletingVerbs[t.verb()]:
		l.found("hint-contradiction", t, "/annotations", "readOnlyHint is true, and the name says %s", t.verb())
	case !readOnly.isTrue() && !destructive.isBool():
		l.found("hint-missing", t, "/annotations", "neither readOnlyHint nor destructiveHint is decided")
	}
	if t.isDestructive() && isEnglish(t.description) && !saysEffect.MatchString(t.description) && !slices.ContainsFunc(t.parameters(), func(p parameter) bool {
		return confirmation.MatchString(p.name)
	}) {
		l.found("destructive-unexplained", t, "/description", "the tool may destroy something; its description does not say whether that can be undone, and no parameter confirms it")
	}
}
