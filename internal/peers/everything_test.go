package peers

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPromptsAndResources reads what is not a tool, from the one server that
// has everything, and everything of steady installed.
func TestPromptsAndResources(t *testing.T) {
	t.Parallel()
	eachPeer(t, everything, readPromptsAndResources)
}

func readPromptsAndResources(t *testing.T, s *session) {
	s.open()
	prompts, err := s.client.listPrompts(s.context())
	require.NoError(t, err)
	require.Subset(t, prompts, []string{"test_simple_prompt", "test_prompt_with_arguments"})
	text, err := s.client.getPrompt(s.context(), "test_prompt_with_arguments", map[string]string{"arg1": "one", "arg2": "two words"})
	require.NoError(t, err)
	require.Equal(t, "Prompt with arguments: arg1='one', arg2='two words'", text)
	_, err = s.client.getPrompt(s.context(), "no_such_prompt", nil)
	require.Error(t, err)

	uris, err := s.client.listResources(s.context())
	require.NoError(t, err)
	require.Subset(t, uris, []string{"test://static-text", "test://static-binary"})
	text, err = s.client.readResource(s.context(), "test://static-text")
	require.NoError(t, err)
	require.Equal(t, "This is the content of the static text resource.", text)
	text, err = s.client.readResource(s.context(), "test://template/7/data")
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"7","templateTest":true,"data":"Data for ID: 7"}`, text)
	_, err = s.client.readResource(s.context(), "test://no-such-resource")
	require.Error(t, err)
}
