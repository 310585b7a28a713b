package config

import (
	"encoding/json"
	"strings"
	"testing"
)

const hunter = "hunter2"

// told returns all that a load says of a file, in each of the forms in which it is shown.
func told(t *testing.T, name, text string) string {
	t.Helper()
	_, ds := Load(Sources{Inline: []Inline{{Name: name, Text: text}}, Host: testHost{}})
	var b strings.Builder
	if err := ds.Render(&b); err != nil {
		t.Fatal(err)
	}
	form, err := json.Marshal(ds)
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(form) + ds.Error()
}

// TestSecretsInWrongPlaces: whoever writes a secret at a wrong place, under a wrong name or
// in a wrong form does not find it in a log.
func TestSecretsInWrongPlaces(t *testing.T) {
	const job = "jobs:\n  - name: a\n    command: x\n    schedule: '@daily'\n"
	const hook = job + "    onFailure: {report: {"
	const web = "web:\n  listen: ['unix:///x']\n"
	const block = "job \"a\" {\n  command = \"x\"\n  schedule = \"@daily\"\n"
	for _, text := range []string{
		job + "    environment:\n      DB_PASSWORD: hunter2\n",
		job + "    environment: {DB_PASSWORD: hunter2}\n",
		job + "    environment: A=hunter2\n",
		job + "    environment:\n      - A=hunter2\n",
		job + "    environment:\n      - A: hunter2\n",
		job + "    environment:\n    - key: A\n      val: hunter2\n",
		job + "    environment:\n      - {key: A, val: hunter2}\n",
		job + "    environment: [{key: A, val: hunter2}]\n",
		job + "    environment:\n      - key: A\n        value: [hunter2]\n",
		job + "    environment:\n      - key: A\n        value: >-\n          hunter2\n         hunter2: x\n",
		job + "    environment:\n      A: \"hunter2\n",
		job + "    env: {A: hunter2}\n",
		job + "    vars: {A: hunter2}\n",
		job + "    settings: hunter2\n",
		hook + "mail: {from: a@b, to: c@d, username: u, passwd: hunter2}}}\n",
		hook + "mail: {from: a@b, to: c@d, username: u, password: [hunter2]}}}\n",
		hook + "webhook: {uri: 'https://h/hunter2'}}}\n",
		hook + "webhook: {url: 'https://h/hunter2'}}}\n",
		hook + "webhook: {url: {vale: 'https://h/hunter2'}}}}\n",
		hook + "webhook: {url: {value: 'https://h'}, headers: [{Authorization: hunter2}]}}}\n",
		hook + "webhook: {url: {value: 'https://h'}, headers: 'Authorization: hunter2'}}}\n",
		hook + "sentry: {dsn: hunter2}}}\n",
		web + "  authToken: hunter2\n",
		web + "  authToken:\n    val: hunter2\n",
		web + "  authToken:\n    value: hunter2 : x\n",
		web + "  authToken:\n    - hunter2\n",
		web + "  authTken: hunter2\n",
		web + "  tokens: {a: hunter2}\n",
		web + "  tokens: [hunter2]\n",
		web + "  tokens:\n    - name: a\n      scope: read\n      secret: hunter2\n",
		"x-secret: &s hunter2\n" + web + "  authToken: *s\n",
		"cluster: {backend: consul, consul: {tokn: hunter2}}\n",
		"cluster: {backend: consul, consul: {token: hunter2}}\n",
		"cluster: {backend: etcd, etcd: {endpoints: ['https://u:hunter2@e']}}\n",
		"cluster: {backend: etcd, etcd: {endpoints: ['https://e'], username: u, pasword: hunter2}}\n",
		block + "  environment {\n    A = hunter2\n  }\n}\n",
		block + "  environment {\n    \"A-B\" = \"hunter2\"\n  }\n}\n",
		block + "  environment {\n    A = \"hunter2\n  }\n}\n",
		block + "  environment {\n    A: \"hunter2\"\n  }\n}\n",
		block + "  environment = \"hunter2\"\n}\n",
		block + "  environment = [\"A=hunter2\"]\n}\n",
		block + "  env = { A = \"hunter2\" }\n}\n",
		"web {\n  listen = [\"unix:///x\"]\n  auth_token = hunter2\n}\n",
		"web {\n  listen = [\"unix:///x\"]\n  auth_tokn = \"hunter2\"\n}\n",
		"web {\n  listen = [\"unix:///x\"]\n  auth_token {\n    val = \"hunter2\"\n  }\n}\n",
		"web {\n  listen = [\"unix:///x\"]\n  token \"a\" {\n    scope = \"read\"\n    secret = \"hunter2\"\n  }\n}\n",
		"export PASSWORD=hunter2\n* * * * * x\n",
		"PASSWORD: hunter2\n* * * * * x\n",
		"setenv PASSWORD hunter2\n* * * * * x\n",
		"\"PASSWORD\"=hunter2\n* * * * * x\n",
		"PASSWORD=hunter2\n* * * * * date +%F\n",
	} {
		name := "a.yaml"
		switch {
		case strings.Contains(text, " {\n"):
			name = "a.hcl"
		case strings.Contains(text, "* * x"), strings.Contains(text, "* * date"):
			name = "a.crontab"
		}
		switch all := told(t, name, text); {
		case all == "null":
			t.Errorf("nothing is told of\n%s", text)
		case strings.Contains(all, hunter):
			t.Errorf("the secret is told:\n%s\n%s", text, all)
		}
	}
}

// TestSecretsSurviveTyping: a file with secrets that is broken at any one place tells none
// of them.
func TestSecretsSurviveTyping(t *testing.T) {
	for name, text := range map[string]string{
		"a.yaml": `jobs:
  - name: a
    command: x
    schedule: "@daily"
    environment:
      - key: A
        value: hunter2
      - {key: B, value: "hunter2"}
    onFailure:
      report:
        mail: {from: a@b, to: c@d, username: u, password: {value: hunter2}}
        webhook:
          url: {value: https://h/hunter2}
          headers:
            Authorization: hunter2
web:
  listen: ["unix:///x"]
  authToken:
    value: hunter2
`,
		"a.hcl": `job "a" {
  command  = "x"
  schedule = "@daily"
  environment {
    A = "hunter2"
  }
  on_failure {
    report {
      webhook {
        url     = { value = "https://h/hunter2" }
        headers = { Authorization = "hunter2" }
      }
    }
  }
}
web {
  listen = ["unix:///x"]
  token "a" {
    scope = "read"
    value = "hunter2"
  }
}
`,
		"a.crontab": "PASSWORD=hunter2\n SECRET = \"hunter2\"\n@daily x\n",
	} {
		if all := told(t, name, text); strings.Contains(all, hunter) {
			t.Fatalf("%s as it is: %s", name, all)
		}
		loads := 0
		for i := range len(text) {
			for _, typed := range []string{"", ":", "\"", "{", "\n", "="} {
				broken := text[:i] + typed + text[i:]
				if typed == "" {
					broken = text[:i] + text[i+1:]
				}
				loads++
				if all := told(t, name, broken); strings.Contains(all, hunter) {
					t.Fatalf("%q at %d of %s:\n%s\n%s", typed, i, name, broken, all)
				}
			}
		}
		t.Logf("%s: %d loads", name, loads)
	}
}
