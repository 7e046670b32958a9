//go:build unix

package replicas

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Two replicas answer for a task as one does.
func TestAnyReplicaAnswers(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		a, b := c.start(launch{}), c.start(launch{})
		ada := caller{user: "ada"}
		model := caller{user: "ada", plain: true} // the same user, without the extension

		t.Run("what one says, the other sees", func(t *testing.T) {
			task := ada.create(c, a, "record", object{"job": "status", "millis": 2000, "status": "reading page 7"})
			require.Eventually(t, func() bool { return ada.get(c, b, task).Result["statusMessage"] == "reading page 7" },
				10*time.Second, 5*time.Millisecond)
			require.Equal(t, "working", ada.get(c, b, task).Result["status"])
			status := model.call(c, b, "task_status", object{"task_id": task, "wait_seconds": 0})
			require.Contains(t, status.text(), "reading page 7")
			require.Contains(t, model.call(c, b, "task_status", object{}).text(), task, "the list of what runs")
			result := model.call(c, b, "task_result", object{"task_id": task}) // waits for it
			require.Equal(t, "status", result.Result["structuredContent"].(object)["job"])
			require.Equal(t, result.Result["structuredContent"], ada.get(c, a, task).Result["result"].(object)["structuredContent"])
		})
		t.Run("cancelling", func(t *testing.T) {
			for i, cancel := range []func(task string) *answer{
				func(task string) *answer { return ada.ask(c, b, "tasks/cancel", object{"taskId": task}) },
				func(task string) *answer { return model.call(c, b, "task_cancel", object{"task_id": task}) },
			} {
				job := fmt.Sprint("cancel", i)
				task := ada.create(c, a, "record", object{"job": job, "millis": 60_000, "status": "started"})
				require.Eventually(t, func() bool { return ada.get(c, b, task).Result["statusMessage"] == "started" },
					10*time.Second, 5*time.Millisecond)
				require.False(t, cancel(task).isError())
				require.Equal(t, "cancelled", ada.get(c, a, task).Result["status"])
				// The handler has been told, and has let go of the job.
				again := func() *answer { return ada.call(c, b, "record", object{"job": job}) }
				require.Eventually(t, func() bool { x := again(); return !x.isError() && x.task() != task }, 5*time.Second, 20*time.Millisecond)
				require.Equal(t, "cancelled", ada.get(c, a, task).Result["status"], "it stays what it was")
			}
		})
		t.Run("answering", func(t *testing.T) {
			task := ada.create(c, a, "ask", object{"job": "asked"})
			requests := ada.await(c, b, task, "input_required").Result["inputRequests"].(object)
			require.Len(t, requests, 1)
			for key := range requests {
				wrong := ada.ask(c, b, "tasks/update", object{"taskId": task, "inputResponses": object{key: object{"action": "accept", "content": object{"sure": "maybe"}}}})
				require.EqualValues(t, -32602, wrong.Error.Code)
				right := ada.ask(c, b, "tasks/update", object{"taskId": task, "inputResponses": object{key: object{"action": "accept", "content": object{"sure": true}}}})
				require.Nil(t, right.Error)
			}
			ada.await(c, a, task, "completed")

			task = model.create(c, b, "ask", object{"job": "asked by tool"})
			var key string
			for key = range ada.await(c, a, task, "input_required").Result["inputRequests"].(object) {
			}
			reply := model.call(c, a, "task_answer", object{"task_id": task, "answers": object{key: object{"action": "decline"}}})
			require.False(t, reply.isError(), reply.text())
			require.Contains(t, model.call(c, b, "task_result", object{"task_id": task}).text(), "not confirmed")
		})
		t.Run("joining", func(t *testing.T) {
			var wg sync.WaitGroup
			var mu sync.Mutex
			tasks := map[string]int{}
			for i := range 200 {
				wg.Go(func() {
					task := ada.create(c, []*replica{a, b}[i%2], "record", object{"job": "joined", "millis": 1000, "idempotency_key": fmt.Sprint("key", i%20)})
					mu.Lock()
					defer mu.Unlock()
					tasks[task]++
				})
			}
			wg.Wait()
			require.Len(t, tasks, 1)
			conflict := ada.call(c, b, "record", object{"job": "another", "idempotency_key": "key3"})
			require.True(t, conflict.isError())
			require.Contains(t, conflict.text(), "key")
			bob := caller{user: "bob"}
			for task := range tasks {
				require.NotEqual(t, task, bob.create(c, b, "record", object{"job": "joined"}), "another user's job is another job")
				for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
					x, err := bob.send(t.Context(), b, method, object{"taskId": task, "inputResponses": object{}})
					require.NoError(t, err)
					require.NotNil(t, x.Error, method)
					require.EqualValues(t, -32602, x.Error.Code, "%s: %s", method, x.text())
				}
				for _, tool := range []string{"task_status", "task_result", "task_cancel"} {
					x := caller{user: "bob", plain: true}.call(c, b, tool, object{"task_id": task})
					require.True(t, x.isError(), tool)
					require.Contains(t, x.text(), "there is no task", tool)
				}
				ada.await(c, b, task, "completed")
			}
		})
	})
}

// What waited for an answer when its process was killed waits on, and the answer
// can be given to another.
func TestQuestionSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		a := c.start(launch{})
		u := caller{user: "ada"}
		task := u.create(c, a, "ask", object{"job": "asked"})
		asked := u.await(c, a, task, "input_required").Result["inputRequests"].(object)
		c.kill(a)
		b := c.start(launch{})
		deadline := time.Now().Add(20 * time.Second)
		for u.get(c, b, task).Result["status"] != "completed" {
			require.True(t, time.Now().Before(deadline), "the answer did not reach the handler")
			state := u.get(c, b, task).Result
			require.Contains(t, []any{"input_required", "working", "completed"}, state["status"], "%v", state)
			waits, _ := state["inputRequests"].(object)
			for key := range waits {
				a := u.ask(c, b, "tasks/update", object{"taskId": task, "inputResponses": object{key: object{"action": "accept", "content": object{"sure": true}}}})
				require.Nil(t, a.Error)
			}
			time.Sleep(20 * time.Millisecond)
		}
		require.Len(t, asked, 1)
		found, err := c.ledger.all(t.Context())
		require.NoError(t, err)
		require.Len(t, found, 1)
	})
}

// A deployment loses nothing: a process that is told to stop hands its work over.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, dsn string) {
		c := newCluster(t, dsn)
		a := c.start(launch{})
		u := caller{user: "ada"}
		var tasks []string
		for i := range 20 {
			tasks = append(tasks, u.create(c, a, "record", object{"job": fmt.Sprint("job", i), "millis": 1500}))
		}
		b := c.start(launch{})
		require.Less(t, c.stop(a), 5*time.Second)
		before := time.Now()
		for _, task := range tasks {
			u.await(c, b, task, "completed")
		}
		t.Logf("all had ended %v after the stop", time.Since(before).Round(time.Millisecond))
		found, err := c.ledger.all(t.Context())
		require.NoError(t, err)
		require.Len(t, found, len(tasks))
		require.Empty(t, c.overlaps())
	})
}
