package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	bare := results{"a": {{ID: "x", Status: "SUCCESS"}, {ID: "y", Status: "WARNING"}, {ID: "z", Status: "SUCCESS"}}}
	require.Empty(t, compare(bare, bare, nil))
	require.Empty(t, compare(results{"a": {{ID: "y", Status: "FAILURE"}}}, bare, nil), "better is fine")
	require.Equal(t, []string{
		"a x: FAILURE, was SUCCESS: why",
		"a y: not reached, was WARNING",
		"a z: WARNING, was SUCCESS: ",
	}, compare(bare, results{"a": {
		{ID: "x", Status: "SUCCESS"}, {ID: "x", Status: "FAILURE", Message: "why"}, // the worst of the two counts
		{ID: "z", Status: "WARNING"},
	}}, nil))
	require.Empty(t, compare(bare, results{"a": {{ID: "other", Status: "INFO"}}}, []string{"a"}), "it chose otherwise")
	require.Len(t, compare(bare, results{"a": {{ID: "x", Status: "FAILURE"}}}, []string{"a"}), 1)
	require.Len(t, compare(bare, nil, nil), 3)
}

func TestScenarioOf(t *testing.T) {
	require.Equal(t, "tools-list", scenarioOf("server-tools-list-2026-11-30T20-36-16-521Z"))
	require.Equal(t, "server-stateless", scenarioOf("server-server-stateless-2026-11-30T20-36-16-521Z"))
}

func TestJudgeTasks(t *testing.T) {
	full := func() results {
		r := results{}
		for _, scenario := range tasksScenarios {
			for range 5 {
				r[scenario] = append(r[scenario], check{ID: "x", Status: "SUCCESS"})
			}
		}
		r[skippedWhole] = []check{{ID: "x", Status: "SKIPPED"}}
		return r
	}
	require.NoError(t, judgeTasks([]results{full()}))
	require.ErrorContains(t, judgeTasks(nil), "only 0 checks succeeded")
	empty := full()
	empty[tasksScenarios[1]] = nil
	require.ErrorContains(t, judgeTasks([]results{empty}), tasksScenarios[1]+": no check succeeded")
	failing := full()
	failing[tasksScenarios[0]][0].Status = "FAILURE"
	require.ErrorContains(t, judgeTasks([]results{failing}), "FAILURE")
}
