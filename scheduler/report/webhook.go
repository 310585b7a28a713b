package report

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// maxAnswer is how many characters of an error answer get into the log.
const maxAnswer = 1024

// webhookDelivery sends one HTTP request.
type webhookDelivery struct{ *Webhook }

func (d *webhookDelivery) kind() string { return "webhook" }

func (d *webhookDelivery) lane(*Report) string { return d.URL.key() }

func (d *webhookDelivery) secrets() ([]string, error) {
	url, err := d.URL.Resolve()
	if err != nil {
		return nil, err
	}
	secrets := []string{url}
	for _, h := range d.Headers {
		secrets = append(secrets, h.Value)
		if _, token, ok := strings.Cut(h.Value, " "); ok {
			secrets = append(secrets, token) // of Authorization: Bearer token
		}
	}
	return secrets, nil
}

func (d *webhookDelivery) prepare(r *Reporter, report *Report, secrets []string) (func(context.Context) error, error) {
	w := r.write(report)
	if d.Body == nil {
		text, err := w.both()
		if err != nil {
			return nil, err
		}
		w.variables["default_text"] = text
	}
	body, err := w.text(d.Body, defaultWebhookBody)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return d.send(ctx, r, secrets[0], body) }, nil
}

func (d *webhookDelivery) send(ctx context.Context, r *Reporter, url, body string) error {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, d.Method, url, strings.NewReader(body))
	if err != nil {
		return errors.New("the url or the method is not valid") // the error would show it
	}
	req.Header.Set("Content-Type", d.ContentType)
	req.Header.Set("User-Agent", r.userAgent())
	for _, h := range d.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return notConnected(err)
	}
	defer resp.Body.Close()
	text := ""
	if resp.StatusCode >= 400 {
		text = readSome(resp.Body, maxAnswer)
	}
	return answer(resp, text, time.Now())
}

func (r *Reporter) userAgent() string {
	if r.cfg.Version == "" {
		return "yacron2"
	}
	return "yacron2/" + r.cfg.Version
}
