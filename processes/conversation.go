package processes

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	loomv1 "github.com/loomrun/loom/proto/loom/v1"
	"github.com/loomrun/loom/roles"
)

// ConversationProcess names the workflow of conversations, and ConversationNode its one
// node of work.
const (
	ConversationProcess = "conversation"
	ConversationNode    = "talk"
)

// conversationPatience is how long the lead works on one reply at most.
const conversationPatience = 2 * time.Hour

// ConversationWorkflow is the workflow of a conversation of people with the lead. Its node
// ends with the conversation alone.
func ConversationWorkflow() *loomv1.Definition {
	node := func(id string, kind loomv1.NodeType, text string) *loomv1.NodeDefinition {
		return &loomv1.NodeDefinition{Id: id, Type: kind, Description: text}
	}
	talk := node(ConversationNode, task, "Talk with the people who work on this project: answer what they ask, and have done what they want done.")
	talk.Role, talk.MaxAttempts, talk.Timeout = planRole, 3, durationpb.New(conversationPatience)
	talk.Phase = &loomv1.Phase{Part: loomv1.PhasePart_PHASE_PART_CONVERSATION}
	def := &loomv1.Definition{
		Name: ConversationProcess, Version: "1.0", Description: "People talk with the lead. The runtime files such a bead for each conversation.", Pattern: ConversationProcess,
		Nodes: []*loomv1.NodeDefinition{node("start", start, "Somebody opened a conversation."), talk, node("end", end, "It is closed.")},
		Edges: []*loomv1.EdgeDefinition{{Id: "e1", From: "start", To: ConversationNode}, {Id: "e2", From: ConversationNode, To: "end"}},
	}
	return Complete(def, roles.Builtin())
}
