package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFleetCheck(t *testing.T) {
	t.Parallel()
	fixture := build(t, filepath.Join("internal", "fixture"))
	code, out, errOut := steady(t, "", "proxy", "-check", "-server", "one="+fixture, "-server", "two='"+fixture+"' -mistake \"\"")
	require.Equal(t, exitFindings, code, errOut)
	require.Regexp(t, `^\d+ tools, \d+ prompts, \d+ resources, \d+ templates of resources\n\nKIND +NAME +SERVER +LISTED AS\n`, out)
	require.Regexp(t, `tools +search_notes +one +one_search_notes\ntools +search_notes +two +two_search_notes\n`, out)

	code, _, errOut = steady(t, "", "proxy", "-check", "-start", "2s", "-server", "one="+fixture)
	require.Equal(t, exitClean, code, errOut)

	code, _, errOut = steady(t, "", "proxy", "-check", "-start", "2s", "-server", "one="+fixture, "-server", "two=./no/such")
	require.Equal(t, exitConnect, code)
	require.Contains(t, errOut, "not all servers can be used: two: starting the server")
}

func TestFleetFromConfiguration(t *testing.T) {
	t.Parallel()
	fixture := build(t, filepath.Join("internal", "fixture"))
	file := configFile(t, `
servers:
  one: {command: ["`+fixture+`"]}
  two: {command: ["`+fixture+`"]}
qualify: collisions
`)
	direct := converse(t, "sdk-everything", "A=B", fixture)
	answers := converse(t, "sdk-everything", "A=B", build(t, filepath.Join("..", "steady")), "proxy", "-config", file)
	require.NotContains(t, direct["2"], "one_")
	require.Contains(t, answers["2"], `"one_search_notes"`)
	require.Contains(t, answers["2"], `"two_search_notes"`)
	require.Contains(t, answers["3"], `unknown tool \"no such tool\"`)
	require.Contains(t, answers["4"], `"code":-32601`)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"5","result":{}}`, answers["5"])

	code, out, errOut := steady(t, "", "proxy", "-config", file, "-check")
	require.Equal(t, exitFindings, code, errOut)
	require.Contains(t, out, "search_notes")
}

func TestFleetCommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"-server", "x"}, "NAME=COMMAND"},
		{[]string{"-server", "x="}, "NAME=COMMAND"},
		{[]string{"-server", "x=a 'b"}, "a quote is not closed"},
		{[]string{"-server", "x=''"}, "there is no command"},
		{[]string{"-server", "x y=a"}, "letters, digits"},
		{[]string{"-server", "x=a", "-server", "x=b"}, `two servers are called "x"`},
		{[]string{"-server", "x=a", "-http", "http://localhost"}, "neither a command"},
		{[]string{"-server", "x=a", "--", "b"}, "neither a command"},
		{[]string{"-server", "x=a", "-qualify", "never"}, "always or collisions"},
		{[]string{"-check", "--", "a"}, "-check is for several servers"},
	} {
		code, _, errOut := steady(t, "", append([]string{"proxy"}, tt.args...)...)
		require.Equal(t, exitUsage, code, tt.args)
		require.Contains(t, errOut, tt.says, tt.args)
	}
	got, ok := words(` a 'b  "c' "d'e"f  `)
	require.True(t, ok)
	require.Equal(t, []string{"a", `b  "c`, "d'ef"}, got)
}
