package kubernetes

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/transport"

	"github.com/yacron2/yacron2/internal/version"
)

// podFiles is where a pod finds its credentials.
const podFiles = "/var/run/secrets/kubernetes.io/serviceaccount"

// credentials are how to get at an API server, as they were read from files once.
type credentials struct {
	config    *rest.Config
	base      *url.URL // without a path of the API
	namespace string   // "" if the files name none
	plugin    bool     // a program or a plugin gives the token or the certificate
	secret    bool     // there is something to show that nobody else may see
	// print tells two states of the files apart. That of a token belongs to them: the
	// transport reads it by itself, but only once a minute.
	print [sha256.Size]byte
}

// load reads the credentials.
func (c *Config) load() (*credentials, error) {
	read := files{}
	from := c.fromPod
	if c.Kubeconfig != "" {
		from = c.fromKubeconfig
	}
	loaded, err := from(&read)
	if err != nil {
		return nil, err
	}
	if err := loaded.inline(&read); err != nil {
		return nil, err
	}
	loaded.config.UserAgent = "yacron2/" + version.Version
	// Requests to a server that closed its connections or is cut off are to fail one by
	// one: with HTTP/1 a request that is given up takes its connection with it.
	loaded.config.NextProtos = []string{"http/1.1"}
	loaded.config.Dial = (&net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: 15 * time.Second}).DialContext
	if loaded.base, err = baseURL(loaded.config.Host); err != nil {
		return nil, err
	}
	if loaded.base.Scheme == "http" && loaded.secret {
		return nil, fmt.Errorf("the API server %s is not https: credentials would go over the wire in clear", loaded.base.Host)
	}
	loaded.print = read.sum()
	return loaded, nil
}

// files remembers what was read, to notice a change.
type files struct{ content []byte }

func (f *files) read(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		sum := sha256.Sum256(data)
		f.content = append(f.content, sum[:]...)
	}
	return data, err
}

func (f *files) sum() [sha256.Size]byte { return sha256.Sum256(f.content) }

// fromPod reads what Kubernetes gives a pod.
func (c *Config) fromPod(read *files) (*credentials, error) {
	dir := cmp.Or(c.podFiles, podFiles)
	getenv := c.environ
	if getenv == nil {
		getenv = os.Getenv
	}
	host := c.APIServer
	if host == "" {
		name, port := getenv("KUBERNETES_SERVICE_HOST"), getenv("KUBERNETES_SERVICE_PORT")
		if name == "" || port == "" {
			return nil, errors.New("this process does not run in a pod of Kubernetes (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set): set cluster.kubernetes.kubeconfig")
		}
		host = "https://" + net.JoinHostPort(name, port)
	}
	token := filepath.Join(dir, "token")
	if data, err := os.ReadFile(token); err != nil {
		return nil, fmt.Errorf("the pod has no token of a service account (is automountServiceAccountToken off?): %w", err)
	} else if len(strings.TrimSpace(string(data))) == 0 {
		return nil, fmt.Errorf("the token of the pod's service account is empty: %s", token)
	}
	ca, err := read.read(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("the authority of the API server's certificate: %w", err)
	}
	namespace, err := read.read(filepath.Join(dir, "namespace"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the namespace of the pod: %w", err)
	}
	return &credentials{
		config:    &rest.Config{Host: host, BearerTokenFile: token, TLSClientConfig: rest.TLSClientConfig{CAData: ca}},
		namespace: strings.TrimSpace(string(namespace)),
		secret:    true,
	}, nil
}

// fromKubeconfig reads a file as kubectl uses it.
func (c *Config) fromKubeconfig(read *files) (*credentials, error) {
	if _, err := read.read(c.Kubeconfig); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	overrides := &clientcmd.ConfigOverrides{ClusterInfo: clientcmdapi.Cluster{Server: c.APIServer}}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig}, overrides)
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", c.Kubeconfig, err)
	}
	plugin := config.ExecProvider != nil || config.AuthProvider != nil
	if plugin && c.ClientLibrary == libraryHTTP {
		return nil, fmt.Errorf("kubeconfig %s: its credentials come from a plugin, which clientLibrary: http excludes", c.Kubeconfig)
	}
	if p := config.ExecProvider; p != nil {
		if p.InteractiveMode == clientcmdapi.AlwaysExecInteractiveMode {
			return nil, fmt.Errorf("kubeconfig %s: the credential plugin %s asks a person, and there is none", c.Kubeconfig, p.Command)
		}
		p.StdinUnavailable = true
	}
	return &credentials{config: config, namespace: namespace, plugin: plugin, secret: hasSecret(&raw)}, nil
}

// hasSecret reports whether the user of the current context has something to show. The
// client library passes over it where the server is not https.
func hasSecret(raw *clientcmdapi.Config) bool {
	at := raw.Contexts[raw.CurrentContext]
	if at == nil || raw.AuthInfos[at.AuthInfo] == nil {
		return false
	}
	u := raw.AuthInfos[at.AuthInfo]
	return u.Token != "" || u.TokenFile != "" || u.Password != "" || u.Exec != nil || u.AuthProvider != nil
}

// inline takes the certificates out of their files, so that a change is noticed and
// taken over as a whole, or not at all.
func (cr *credentials) inline(read *files) error {
	tls := &cr.config.TLSClientConfig
	for _, f := range []struct {
		what string
		path *string
		data *[]byte
	}{
		{"the authority of the API server's certificate", &tls.CAFile, &tls.CAData},
		{"the client certificate", &tls.CertFile, &tls.CertData},
		{"the key of the client certificate", &tls.KeyFile, &tls.KeyData},
	} {
		if *f.path == "" || len(*f.data) > 0 {
			continue
		}
		data, err := read.read(*f.path)
		if err != nil {
			return fmt.Errorf("%s: %w", f.what, err)
		}
		*f.data, *f.path = data, ""
	}
	if path := cr.config.BearerTokenFile; path != "" {
		if _, err := read.read(path); err != nil {
			return fmt.Errorf("the token: %w", err)
		}
	}
	return nil
}

// baseURL reads an address as kubectl does.
func baseURL(host string) (*url.URL, error) {
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	u, err := url.Parse(host)
	if err != nil {
		// The text of the error would show what may be a password.
		return nil, errors.New("the address of the API server is no URL")
	}
	if u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return nil, fmt.Errorf("the address of the API server, %s, must begin with https://", u.Redacted())
	}
	return u, nil
}

// httpClient makes a client of the credentials. It keeps one or two connections, which
// CloseIdleConnections of the transport that it returns too closes.
func (cr *credentials) httpClient(connect time.Duration) (*http.Client, *http.Transport, error) {
	config, err := cr.config.TransportConfig()
	if err != nil {
		return nil, nil, fmt.Errorf("credentials: %w", err)
	}
	tlsConfig, err := transport.TLSConfigFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("credentials: %w", err)
	}
	base := &http.Transport{
		Proxy:               config.Proxy,
		DialContext:         config.DialHolder.Dial, // of a plugin, it closes what has an old certificate
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: connect,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     90 * time.Second,
		Protocols:           new(http.Protocols),
	}
	base.Protocols.SetHTTP1(true)
	if base.Proxy == nil {
		base.Proxy = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	rt, err := transport.HTTPWrappersForConfig(config, base)
	if err != nil {
		return nil, nil, fmt.Errorf("credentials: %w", err)
	}
	return &http.Client{Transport: rt, CheckRedirect: noRedirect}, base, nil
}

// noRedirect: an API server answers itself.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
