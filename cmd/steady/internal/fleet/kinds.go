package fleet

// A kind is something that servers list.
type kind struct {
	list       string // the method
	items      string // the member of its result
	key        string // the member of an item that tells it from others
	capability string
	changed    string // the notification, "" if there is none
	listen     string // what opts in to that, in subscriptions/listen
	named      bool   // the key is a name, and may be changed
}

var (
	tools     = &kind{"tools/list", "tools", "name", "tools", "notifications/tools/list_changed", "toolsListChanged", true}
	prompts   = &kind{"prompts/list", "prompts", "name", "prompts", "notifications/prompts/list_changed", "promptsListChanged", true}
	resources = &kind{"resources/list", "resources", "uri", "resources", "notifications/resources/list_changed", "resourcesListChanged", false}
	templates = &kind{"resources/templates/list", "resourceTemplates", "uriTemplate", "resources", "notifications/resources/list_changed", "resourcesListChanged", false}
	taskList  = &kind{"tasks/list", "tasks", "taskId", "tasks", "", "", false}

	kinds = []*kind{tools, prompts, resources, templates, taskList}
)

// kindOf returns the kind that a method lists, or nil.
func kindOf(method string) *kind {
	for _, k := range kinds {
		if k.list == method {
			return k
		}
	}
	return nil
}
