package doctor

import "github.com/steadymcp/steady/registry"

// A Probe is something that the doctor looks for. IDs are stable.
type Probe struct {
	ID       string
	Severity registry.Severity
	Title    string // what is found
	Sends    string // what is done to find it
	Why      string
	Fix      string
	Family   string
}

// Short names of the severities, for the tables.
const (
	bad    = registry.Error
	poor   = registry.Warning
	advice = registry.Info
)

var probeByID = func() map[string]Probe {
	m := map[string]Probe{}
	for _, all := range [][]Probe{
		listingProbes, protocolProbes, callProbes, nameProbes, argumentProbes, limitProbes, cursorProbes, hostileProbes,
		promptProbes, taskProbes, timeProbes, httpProbes, stdoutProbes, lineProbes, endingProbes,
	} {
		for _, p := range all {
			m[p.ID] = p
		}
	}
	return m
}()
