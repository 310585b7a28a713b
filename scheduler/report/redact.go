package report

import (
	"errors"
	"net/url"
	"strings"
)

// hidden stands for a secret in texts.
const hidden = "(hidden)"

// redactor takes secrets out of texts that come from elsewhere, such as errors of
// libraries and answers of servers.
type redactor struct{ replace *strings.Replacer }

// newRedactor hides the secrets and, of those that are addresses, each part that may
// make them secret.
func newRedactor(secrets ...string) redactor {
	var pairs []string
	add := func(part string) {
		if len(part) >= 4 { // shorter ones would hide ordinary words
			pairs = append(pairs, part, hidden)
		}
	}
	for _, s := range secrets {
		add(s)
		add(url.QueryEscape(s))
		add(url.PathEscape(s))
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			continue
		}
		if u.User != nil {
			add(u.User.String())
			add(u.User.Username())
			if password, ok := u.User.Password(); ok {
				add(password)
			}
		}
		add(u.RequestURI())
		add(u.Path)
		add(u.RawQuery)
		for _, segment := range strings.Split(u.Path, "/") {
			if len(segment) >= 8 {
				add(segment)
			}
		}
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
	}
	return redactor{strings.NewReplacer(pairs...)}
}

// error returns the text of err without the secrets.
func (r redactor) error(err error) string {
	var u *url.Error // its text holds the whole address
	if errors.As(err, &u) {
		err = u.Err
	}
	return r.text(err.Error())
}

func (r redactor) text(text string) string { return r.replace.Replace(text) }
