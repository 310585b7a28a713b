package config

import "testing"

func TestMaskLine(t *testing.T) {
	for _, tt := range []struct {
		dialect    dialect
		line       string
		caret      int
		want       string
		wantsCaret int
	}{
		{yamlDialect, "    value: hunter2", 4, "    value: ***", 4},
		{yamlDialect, "    value: hunter2", 13, "    value: ***", 11},
		{yamlDialect, `password: {value: "a, b", x: 1}`, 26, `password: {value: ***, x: ***}`, 23},
		{yamlDialect, `{value: a, fromFile: b}`, 11, `{value: ***, fromFile: b}`, 13},
		{yamlDialect, "authToken: abc", 0, "authToken: ***", 0},
		{yamlDialect, "authToken: {fromEnvVar: ABC}", 3, "authToken: {fromEnvVar: ABC}", 3},
		{yamlDialect, `command: curl -H "Authorization: Bearer abc"`, 0, `command: curl -H "Authorization: ***`, 0},
		{yamlDialect, "apiServer: https://u:p@h:1/x", 27, "apiServer: https://***@h:1/x", 27},
		{yamlDialect, "valued: x", 0, "valued: x", 0},
		{hclDialect, `url = "https://h/s"  # c`, 21, `url = ***  # c`, 11},
		{hclDialect, `url = env("URL")`, 6, `url = env("URL")`, 6},
		{hclDialect, `  environment = { A = "b", C = "d" }`, 2, `  environment = ***`, 2},
		{crontabDialect, "PASS = secret word", 0, "PASS = ***", 0},
		{crontabDialect, "CRON_TZ=Nowhere", 8, "CRON_TZ=Nowhere", 8},
		{crontabDialect, "* * * * * A=b ./x", 10, "* * * * * A=b ./x", 10},
	} {
		got, caret := maskLine([]rune(tt.line), tt.caret, tt.dialect, nil)
		if string(got) != tt.want || caret != tt.wantsCaret {
			t.Errorf("%s\ngot  %s, %d\nwant %s, %d", tt.line, string(got), caret, tt.want, tt.wantsCaret)
		}
	}
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"captureStdout": "capture_stdout", "sessionTTL": "session_ttl", "fromEnvVar": "from_env_var", "env_file": "env_file", "ui": "ui",
		"maxSizeMB": "max_size_mb", "dayOfMonth": "day_of_month", "apiServer": "api_server",
	} {
		if got := snakeCase(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestNearest(t *testing.T) {
	words := []string{"captureStdout", "captureStderr", "shell", "user"}
	for word, want := range map[string]string{
		"capture_stdout": "captureStdout", "captureStdOut": "captureStdout", "captureSdterr": "captureStderr", "shel": "shell", "usr": "user", "wholly": "", "": "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("%q: %q", word, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "+5": 5, "-1": -1, "007": 7, "1_000": 1000} {
		if got, ok := parseInt(text); !ok || got != want {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "+", "_1", "1_", "1.0", "1e3", "0x1", "--1", "+-1", "99999999999999999999", " 1", "١"} {
		if got, ok := parseInt(text); ok {
			t.Errorf("%q is %d", text, got)
		}
	}
	for text, want := range map[string]float64{"0": 0, "1.5": 1.5, "1e3": 1000, ".5": 0.5, "5.": 5, "1_0.2_5": 10.25, "-3": -3} {
		if got, ok := parseFloat(text); !ok || got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "1,5", "0x1p2", "1__0", "_1", "1_.5", "e3", "one", " 1"} {
		if got, ok := parseFloat(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	if got := seconds(1e-12); got != 1 {
		t.Errorf("what is above zero became %v", got)
	}
	if got, _ := parseFloat("inf"); seconds(got) != forever {
		t.Errorf("inf became %v", seconds(got))
	}
}
