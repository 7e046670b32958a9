package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	bare := results{"a": {{ID: "x", Status: "SUCCESS"}, {ID: "y", Status: "WARNING"}, {ID: "z", Status: "SUCCESS"}}}
	require.Empty(t, compare(bare, bare))
	require.Empty(t, compare(results{"a": {{ID: "y", Status: "FAILURE"}}}, bare), "better is fine")
	require.Equal(t, []string{
		"a x: FAILURE, was SUCCESS: why",
		"a y: not reached, was WARNING",
		"a z: WARNING, was SUCCESS: ",
	}, compare(bare, results{"a": {
		{ID: "x", Status: "SUCCESS"}, {ID: "x", Status: "FAILURE", Message: "why"}, // the worst of the two counts
		{ID: "z", Status: "WARNING"},
	}}))
	require.Len(t, compare(bare, nil), 3)
}

func TestScenarioOf(t *testing.T) {
	require.Equal(t, "tools-list", scenarioOf("server-tools-list-2026-11-30T20-36-16-521Z"))
	require.Equal(t, "server-stateless", scenarioOf("server-server-stateless-2026-11-30T20-36-16-521Z"))
}
