package gossip

import (
	"fmt"
	"time"
)

// Troubles says in words what keeps this node from doing its part in the cluster although
// it runs, or soon will: what somebody has to put right on this very node.
func (m *Manager) Troubles() []string {
	var list []string
	if err := m.voter.unstored(); err != nil {
		list = append(list, fmt.Sprintf("votes can't be stored, so that this node votes for nobody: %v", err))
	}
	if err := m.creds.unused(); err != nil {
		list = append(list, fmt.Sprintf("the certificate files as they are can't be used, those read before stay in use: %v", err))
	}
	switch ends, _ := m.creds.expiry(); {
	case ends.IsZero() || time.Until(ends) >= expiryWarning:
	case time.Until(ends) <= 0:
		list = append(list, "this node's certificate ended at "+ends.UTC().Format(time.RFC3339)+": no peer accepts it")
	default:
		list = append(list, "this node's certificate ends at "+ends.UTC().Format(time.RFC3339))
	}
	return list
}
