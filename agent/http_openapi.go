package agent

import (
	_ "embed"
	"net/http"
)

// openAPI describes the API. A test holds it to the routes, and to every answer that
// the tests see.
//
//go:embed openapi.yaml
var openAPI []byte

func (a *httpAPI) description(w http.ResponseWriter, _ *http.Request) {
	a.send(w, http.StatusOK, "application/yaml", openAPI)
}
