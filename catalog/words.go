package catalog

import "strings"

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// stopWords carry grammar, not meaning. They are left out of questions and of
// prose, kept in ids, and used after all if a question has nothing else.
// Words of any domain do not belong here: their frequency speaks for itself.
var stopWords = set(`a about after again against all also am an and another any anyone anything are around as at
	be because been before being between both but by came can cannot come could
	did do does doing done don each either else ever every for from
	had has have having he her here hers him his how i if in into is it its itself just
	let lets like ll may me might mine more most much must my myself near no nor not
	of off on one or other our ours out over own
	per please pls put re really same shall she should so some someone something somehow such
	than that the their theirs them then there these they thing things this those through to too
	under until up upon us ve very via want wanna wants was we were what whatever whats when where whether which while who whom whose why will with within without would
	yes yet you your yours gonna gotta got gets need needs id im ive hey hi hello thanks thank`)

// softWords are verbs of asking. They count, but little.
var softWords = stems(`get give show list find see tell look use make need all own other know want check display view fetch retrieve return available current`)

func stems(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[Stem(w)] = true
	}
	return m
}

// An intent is what an operation does to its object, as far as its verb tells.
type intent uint8

const (
	intentNone intent = iota
	intentRead
	intentAnswer // of an entry: it can only read, whatever its verb
	intentCreate
	intentUpdate
	intentDelete
	intentRun
	intentStop
)

// intentWords lists the verbs of each intent. None may be in two lists.
var intentWords = []struct {
	intent intent
	words  string
}{
	{intentRead, `get list show display view read fetch retrieve find search look browse query describe check see
		count tell lookup inspect enumerate explore examine watch export download compare summarize what which who when where`},
	{intentCreate, `create add make new post insert generate build register open compose draft write invite upload
		append attach introduce establish submit send issue schedule book publish fork duplicate clone`},
	{intentUpdate, `update edit change modify set rename patch adjust alter replace move assign configure correct
		mark amend revise resize reorder resolve convert tag label annotate merge`},
	{intentDelete, `delete remove erase drop clear purge destroy wipe uninstall unassign detach revoke discard trash prune unpin`},
	{intentRun, `run execute launch start trigger invoke perform play resume restart activate enable deploy click press`},
	{intentStop, `stop cancel halt pause terminate kill abort end close disable deactivate suspend shut finish quit`},
}

// intents maps stems of verbs to what they intend.
var intents = func() map[string]intent {
	m := map[string]intent{}
	for _, g := range intentWords {
		for w := range stems(g.words) {
			m[w] = g.intent
		}
	}
	return m
}()

var (
	// askingWords at the beginning of a question ask for knowledge, not for a
	// change.
	askingWords = set("which what who whose are is when where was were does did has whats many much")
	// procedureWords after "how" ask for the way to do something: "how do I".
	procedureWords = set("do can could to should would may might")
	// leadingWords are the polite beginning of a question.
	leadingWords = set("please can could you i want to need how do help me let us lets would like we my the a hey id should may might")
)
