package main

// text is what the schema does not say of a key.
type text struct {
	limits   string // allowed values, as far as the type does not tell
	about    string
	id       string // part of the job-set id: "" is yes; of jobs only
	fallback string // what holds without the key, where that is no single value
}

const head = `<!-- Written by "go generate ./internal/confdoc" from the schema. Do not edit. -->

# Reference of all keys

Each key with its type, its default, and what a value must be. What stands in no table is
refused, with the nearest key that exists. [Configuration](configuration.md) says how files
become one configuration, [HCL](hcl.md) and [crontab](crontab.md) how those languages
spell it.

- A *text* is taken as it is written, quoted or not. *True or false* is also yes, on, 1, y
  and no, off, 0, n, in any case. Numbers may hold ` + "`_`" + ` between digits.
- Times are in seconds, and fractions count where the type is *number*.
- *Required* keys must be there wherever the mapping around them is written.
- *id* says whether a key is part of the job-set id, the fingerprint by which nodes see
  that they have the same jobs: *names* and *source* mean that only the names, or where a
  secret comes from, are part of it. What is in no table with this column is not part of it.
`

const tail = `
## Secrets

A key of the type *secret* takes exactly one of these, and the more specific place replaces
the secret of ` + "`defaults`" + ` as a whole:

| key | in HCL | meaning |
| --- | --- | --- |
| ` + "`value`" + ` | ` + "`value`" + ` | the secret itself |
| ` + "`fromFile`" + ` | ` + "`from_file`, or `KEY = file(\"PATH\")`" + ` | the file that holds it; read when it is needed, blanks around it are cut |
| ` + "`fromEnvVar`" + ` | ` + "`from_env_var`, or `KEY = env(\"NAME\")`" + ` | the environment variable of the agent that holds it |

Secrets are in no log, no error, no answer of the API and not in the job-set id.
`

const reportPath = "jobs.onFailure.report"

var parts = []part{
	{title: "Top level", path: "", skip: map[string]string{
		"defaults": "", "jobs": "See [jobs](#jobs).", "web": "See [web](#web).",
		"cluster": "See [cluster](#cluster).", "logging": "See [logging](#logging).",
	}},
	{title: "Jobs", path: "jobs", id: true, skip: map[string]string{
		"onFailure.report": "See [reports](#reports).", "onPermanentFailure": "It holds `report` alone.",
		"onSuccess": "It holds `report` alone.", "onMiss": "It holds `report` alone.",
	}, intro: "The keys of a job. All but `name`, `command` and `schedule` may also stand in `defaults`."},
	{title: "Reports", path: reportPath, id: true,
		intro: "The keys of `report`, which is the same in `onFailure`, `onPermanentFailure`, `onSuccess` and `onMiss`. Templates are Jinja2; they are compiled when the files are read."},
	{title: "web", path: "web"},
	{title: "cluster", path: "cluster", skip: map[string]string{
		"kubernetes": "See [below](#clusterkubernetes).", "etcd": "See [below](#clusteretcd).", "consul": "See [below](#clusterconsul).",
	}},
	{title: "cluster.kubernetes", path: "cluster.kubernetes"},
	{title: "cluster.etcd", path: "cluster.etcd"},
	{title: "cluster.consul", path: "cluster.consul"},
	{title: "logging", path: "logging",
		intro: "Either our own keys, or with `version: 1` a section of yacron2 1.2 (a Python dictConfig), of which level, stream and file are taken."},
}

var texts = map[string]text{
	"include":          {about: "files that are read before this one, relative to its folder", limits: "no cycles"},
	"defaults":         {about: "keys of jobs, for the jobs of this file and of files that include it"},
	"jobs":             {about: "the jobs."},
	"web":              {about: "the HTTP API; at most one in the configuration.", fallback: "no API"},
	"cluster":          {about: "the other nodes; at most one in the configuration.", fallback: "this node is alone"},
	"logging":          {about: "where the log goes; at most one in the configuration."},
	"dataDir":          {about: "folder for what outlives the process: history, votes. Needs a restart to change", fallback: "all in memory"},
	"startingDeadline": {about: "how late a firing may start; 0 is never late", limits: "0 to 300"},
	"shutdownTimeout":  {about: "how long a stopping agent waits for running jobs before it cancels them", limits: "> 0", fallback: "as long as they run"},
	"logLevel":         {about: "lowest level that is logged"},
	"logFormat":        {about: "form of the log's lines"},

	"jobs.name":                               {about: "identifies the job, in the API as in the history", limits: "unique, printable, at most 128 characters"},
	"jobs.command":                            {about: "a text is run by the shell, a list is executed as it is"},
	"jobs.schedule":                           {about: "when it fires; see [schedules](schedules.md). As a mapping, a field that is left out is `*`"},
	"jobs.schedule.minute":                    {limits: "one field", about: "minutes, 0 to 59"},
	"jobs.schedule.hour":                      {limits: "one field", about: "hours, 0 to 23"},
	"jobs.schedule.dayOfMonth":                {limits: "one field", about: "days of the month"},
	"jobs.schedule.month":                     {limits: "one field", about: "months, 1 to 12 or jan to dec"},
	"jobs.schedule.dayOfWeek":                 {limits: "one field", about: "days of the week, 0 to 7 or sun to sat"},
	"jobs.schedule.year":                      {limits: "one field", about: "years, 1970 to 2099"},
	"jobs.shell":                              {about: "runs commands that are a text, with `-c`; empty is the platform's own"},
	"jobs.enabled":                            {about: "false: checked, and never started"},
	"jobs.concurrencyPolicy":                  {about: "what a firing does while the job still runs: start beside it, not start, or cancel it first"},
	"jobs.clusterPolicy":                      {about: "where it runs under election: see [guarantees](guarantees.md)"},
	"jobs.captureStdout":                      {about: "keep and pass on what it prints; else it goes where the agent's own output goes"},
	"jobs.captureStderr":                      {about: "the same for its standard error"},
	"jobs.saveLimit":                          {limits: "≥ 0", about: "lines of each stream that are kept, the first and the last ones"},
	"jobs.maxLineLength":                      {limits: "> 0", about: "bytes; longer lines are dropped with a warning"},
	"jobs.streamPrefix":                       {limits: "`{job_name}`, `{stream_name}`; `{{` and `}}` for braces", about: "stands before each line that is passed on"},
	"jobs.utc":                                {id: "no, the zone is", about: "false: the machine's own time zone"},
	"jobs.timezone":                           {limits: "IANA name", about: "the zone by whose clock it fires; wins over `utc`"},
	"jobs.dayMatch":                           {about: "whether a firing must match both day fields or one of them, where both are restricted; `or` in crontabs"},
	"jobs.environment":                        {id: "names", about: "variables on top of the agent's; merged by name with those of `defaults`", fallback: "none"},
	"jobs.environment.key":                    {limits: "no `=`, no NUL", id: "names", about: "name of the variable"},
	"jobs.environment.value":                  {limits: "no NUL", id: "no", about: "its value"},
	"jobs.env_file":                           {id: "names", about: "file of lines `KEY=value`, below `environment`; relative to the file that names it"},
	"jobs.user":                               {limits: "the agent must be root", about: "runs it as this user; sets HOME, USER, LOGNAME and SHELL"},
	"jobs.group":                              {limits: "the agent must be root", about: "runs it with this group, in place of the user's own", fallback: "the user's"},
	"jobs.workingDirectory":                   {limits: "absolute path", about: "where it runs", fallback: "the agent's"},
	"jobs.startingDeadline":                   {limits: "0 to 300", id: "if set", about: "how late it may start; 0 is never late. The top level's, unless set"},
	"jobs.executionTimeout":                   {limits: "> 0", about: "after that long it is ended", fallback: "none"},
	"jobs.killTimeout":                        {limits: "≥ 0", about: "from SIGTERM to SIGKILL"},
	"jobs.failsWhen":                          {about: "what makes a run a failure"},
	"jobs.failsWhen.producesStdout":           {about: "any line on the standard output, if it is captured"},
	"jobs.failsWhen.producesStderr":           {about: "any line on the standard error, if it is captured"},
	"jobs.failsWhen.nonzeroReturn":            {about: "an exit code other than 0"},
	"jobs.failsWhen.always":                   {about: "in any case"},
	"jobs.onFailure":                          {about: "what follows a failure"},
	"jobs.onFailure.retry":                    {about: "repeats a failed run"},
	"jobs.onFailure.retry.maximumRetries":     {limits: "≥ −1", about: "how often; −1 is endless"},
	"jobs.onFailure.retry.initialDelay":       {limits: "≥ 0", about: "before the first retry"},
	"jobs.onFailure.retry.maximumDelay":       {limits: "> 0", about: "no delay is longer"},
	"jobs.onFailure.retry.backoffMultiplier":  {limits: "> 0", about: "each delay is that many times the one before"},
	"jobs.onFailure.retry.jitter":             {limits: "0 to 1", about: "share of a delay that is random"},
	"jobs.onFailure.report":                   {about: "tells of each failure that is retried or final."},
	"jobs.onPermanentFailure":                 {about: "tells of a failure after which nothing is retried."},
	"jobs.onSuccess":                          {about: "tells of a success."},
	"jobs.onMiss":                             {about: "tells of a firing that did not run anywhere, and why."},
	"jobs.statsd":                             {about: "sends start, stop, success and duration to statsd"},
	"jobs.statsd.prefix":                      {about: "stands before the names, with a dot"},
	"jobs.statsd.host":                        {about: "where to, by UDP"},
	"jobs.statsd.port":                        {limits: "1 to 65535", about: "where to"},
	reportPath + ".mail":                      {about: "by mail; active if both addresses are there"},
	reportPath + ".mail.from":                 {limits: "empty switches it off", about: "sender"},
	reportPath + ".mail.to":                   {limits: "empty switches it off", about: "recipients, separated by commas"},
	reportPath + ".mail.smtpHost":             {about: "the mail server", fallback: "localhost"},
	reportPath + ".mail.smtpPort":             {limits: "1 to 65535", about: "its port"},
	reportPath + ".mail.tls":                  {about: "TLS from the first byte on"},
	reportPath + ".mail.starttls":             {about: "the connection must be upgraded; without it that is done where the server offers it"},
	reportPath + ".mail.validate_certs":       {about: "false: any certificate will do"},
	reportPath + ".mail.username":             {about: "login, together with `password`", fallback: "no login"},
	reportPath + ".mail.password":             {id: "source", about: "login, together with `username`"},
	reportPath + ".mail.html":                 {about: "the body is HTML"},
	reportPath + ".mail.subject":              {limits: "template", about: "the subject", fallback: "built in"},
	reportPath + ".mail.body":                 {limits: "template", about: "the text; a success whose text is blank is not sent", fallback: "built in"},
	reportPath + ".sentry":                    {about: "to Sentry; active if there is a `dsn`"},
	reportPath + ".sentry.dsn":                {id: "source", about: "address of the project"},
	reportPath + ".sentry.body":               {limits: "template", about: "the message", fallback: "built in"},
	reportPath + ".sentry.fingerprint":        {limits: "templates", about: "by what events are grouped", fallback: "yacron2, host, job"},
	reportPath + ".sentry.level":              {limits: "fatal, error, warning, info, debug", about: "level of the event"},
	reportPath + ".sentry.environment":        {about: "environment of the event"},
	reportPath + ".sentry.extra":              {about: "further data; numbers, true and false keep their type"},
	reportPath + ".sentry.maxStringLength":    {limits: "≥ 1", about: "longer texts are cut"},
	reportPath + ".shell":                     {about: "by a command, which finds everything in `YACRON2_...` variables"},
	reportPath + ".shell.command":             {about: "like that of a job; ended after 60 seconds"},
	reportPath + ".shell.shell":               {about: "like that of a job", fallback: "`/bin/sh`"},
	reportPath + ".webhook":                   {about: "by an HTTP request; active if there is a `url`"},
	reportPath + ".webhook.url":               {limits: "http or https", id: "source", about: "where to"},
	reportPath + ".webhook.method":            {about: "method of the request"},
	reportPath + ".webhook.contentType":       {about: "type of the body"},
	reportPath + ".webhook.headers":           {id: "names", about: "further headers"},
	reportPath + ".webhook.body":              {limits: "template", about: "what is sent", fallback: "JSON with `text`"},
	reportPath + ".webhook.timeout":           {limits: "> 0", about: "for the whole request"},
	"web.listen":                              {limits: "`http://HOST:PORT`, `https://HOST:PORT`, `unix://PATH`", about: "addresses of the API; what cannot be bound is logged, and the others serve. The host 0.0.0.0 is all of IPv4, `*` all of both families"},
	"web.headers":                             {about: "added to successful answers"},
	"web.hosts":                               {limits: "host names, `*.NAME`, `*`", about: "further names by which an API without tokens [may be asked](http-api.md#without-tokens)"},
	"web.authToken":                           {about: "one bearer token of the scope `operate`", fallback: "the API is open"},
	"web.tokens":                              {about: "bearer tokens; each takes one source as [secrets](#secrets) do"},
	"web.tokens.name":                         {limits: "unique", about: "its name, for you"},
	"web.tokens.scope":                        {about: "look at everything, or also start, cancel and reload"},
	"web.tokens.value":                        {about: "the token itself"},
	"web.tokens.fromFile":                     {about: "the file that holds it"},
	"web.tokens.fromEnvVar":                   {about: "the environment variable that holds it"},
	"web.tls":                                 {about: "needed by https listeners; renewed files are taken up by themselves"},
	"web.tls.cert":                            {about: "PEM file with the certificate and its chain"},
	"web.tls.key":                             {about: "PEM file with its key"},
	"web.socketMode":                          {limits: "octal, to 0777", about: "mode of unix sockets", fallback: "`0660`"},
	"web.ui":                                  {about: "the dashboard at `/`"},
	"web.metrics":                             {about: "the Prometheus endpoint `/metrics`; a single value is `enabled`", fallback: "on"},
	"web.metrics.enabled":                     {about: "whether there is one"},
	"web.metrics.public":                      {about: "`/metrics` needs no token"},
	"web.metrics.durationBuckets":             {limits: "finite, > 0, growing", about: "bounds of the run time histogram, in seconds", fallback: "`0.1 0.5 1 5 15 60 300 900 3600`"},
	"cluster.backend":                         {about: "who decides which node runs a firing"},
	"cluster.nodeName":                        {limits: "printable, at most 256 characters, unlike any other's", about: "name of this node. Needs a restart to change", fallback: "host name"},
	"cluster.connectTimeout":                  {limits: "> 0", about: "for one connection or exchange"},
	"cluster.electLeader":                     {about: "false only observes: every node runs every job. Always true on the other backends"},
	"cluster.distribution":                    {about: "one leader for all jobs, or an owner for each; gossip only"},
	"cluster.listen":                          {limits: "`HOST:PORT`", about: "where the other nodes reach this one; required by gossip. The host 0.0.0.0 is all of IPv4, `*` all of both families"},
	"cluster.tls":                             {about: "mutual TLS between the nodes; required by gossip"},
	"cluster.tls.ca":                          {about: "PEM file of the cluster's own authority"},
	"cluster.tls.cert":                        {about: "PEM file of this node's certificate"},
	"cluster.tls.key":                         {about: "PEM file of its key"},
	"cluster.peers":                           {limits: "not 1 under election", about: "every node but this one; required by gossip"},
	"cluster.peers.host":                      {limits: "`HOST:PORT`", about: "the host must be a name or address of the node's certificate"},
	"cluster.interval":                        {limits: "> 0", about: "longest time between two exchanges with a peer; changes are told at once"},
	"cluster.driftAfter":                      {limits: "≥ 1", about: "rounds after which other jobs count as drift"},
	"cluster.verifyPeerNames":                 {about: "lets in only certificates that name a configured peer"},
	"cluster.kubernetes":                      {about: "a Lease object decides."},
	"cluster.etcd":                            {about: "a key of etcd decides."},
	"cluster.consul":                          {about: "a session lock of Consul decides."},
	"cluster.kubernetes.leaseName":            {limits: "lower-case letters, digits, `-`, `.`; at most 253", about: "name of the Lease"},
	"cluster.kubernetes.leaseNamespace":       {limits: "the same without `.`; at most 63", about: "its namespace", fallback: "the pod's"},
	"cluster.kubernetes.leaseDurationSeconds": {limits: "> `renewDeadlineSeconds` + `retryPeriodSeconds`", about: "after that long others may take over"},
	"cluster.kubernetes.renewDeadlineSeconds": {limits: "> `retryPeriodSeconds`", about: "after that long without renewal the holder stands down"},
	"cluster.kubernetes.retryPeriodSeconds":   {limits: "> 0", about: "between two attempts"},
	"cluster.kubernetes.identity":             {about: "name of this node in the Lease", fallback: "`nodeName`"},
	"cluster.kubernetes.kubeconfig":           {about: "file with the credentials", fallback: "the pod's"},
	"cluster.kubernetes.apiServer":            {limits: "https", about: "address of the API server", fallback: "as the credentials say"},
	"cluster.kubernetes.clientLibrary":        {about: "there is one client; with http, a kubeconfig that gets its credentials from a plugin is an error"},
	"cluster.etcd.endpoints":                  {limits: "http or https, no user in it", about: "the members of the store", fallback: "`http://127.0.0.1:2379`"},
	"cluster.etcd.electionName":               {about: "the key"},
	"cluster.etcd.ttl":                        {limits: "≥ 3; 9 or more is advisable", about: "seconds after which a silent holder has lost it"},
	"cluster.etcd.username":                   {limits: "needs `password`, and https", about: "login"},
	"cluster.etcd.password":                   {limits: "https", about: "login; must resolve when the files are read"},
	"cluster.etcd.tls":                        {about: "files for https endpoints"},
	"cluster.etcd.tls.ca":                     {about: "PEM file of the authority"},
	"cluster.etcd.tls.cert":                   {limits: "needs `key`", about: "PEM file of the client's certificate"},
	"cluster.etcd.tls.key":                    {limits: "needs `cert`", about: "PEM file of its key"},
	"cluster.consul.address":                  {limits: "http or https, no user in it", about: "the agent or server to ask"},
	"cluster.consul.token":                    {about: "access token; must resolve when the files are read"},
	"cluster.consul.datacenter":               {about: "datacenter of the key", fallback: "the agent's"},
	"cluster.consul.namespace":                {about: "namespace of the key"},
	"cluster.consul.partition":                {about: "partition of the key"},
	"cluster.consul.tls":                      {about: "files for an https address"},
	"cluster.consul.tls.ca":                   {about: "PEM file of the authority"},
	"cluster.consul.tls.cert":                 {limits: "needs `key`", about: "PEM file of the client's certificate"},
	"cluster.consul.tls.key":                  {limits: "needs `cert`", about: "PEM file of its key"},
	"cluster.consul.key":                      {limits: "does not begin with `/`", about: "the key"},
	"cluster.consul.sessionTTL":               {limits: "10 to 86400", about: "seconds after which a silent holder has lost it"},
	"cluster.consul.lockDelay":                {limits: "0 to 60", about: "seconds for which nobody gets a key that was lost"},
	"logging.level":                           {about: "as `logLevel`; not both", fallback: "info"},
	"logging.format":                          {about: "as `logFormat`; not both", fallback: "text"},
	"logging.file":                            {about: "file to append to. It is opened anew when somebody else has moved it away", fallback: "a stream"},
	"logging.stream":                          {about: "which stream, without a file", fallback: "stderr"},
	"logging.rotation":                        {about: "renames a file that has grown: FILE becomes FILE.1, FILE.1 becomes FILE.2", fallback: "none"},
	"logging.rotation.maxSizeMB":              {limits: "1 to 1048576", about: "MiB at which it is renamed", fallback: "never"},
	"logging.rotation.maxFiles":               {limits: "1 to 1000", about: "renamed files that are kept", fallback: "5"},
	"logging.version":                         {limits: "1", about: "says that this is a Python dictConfig"},
	"logging.incremental":                     {about: "without effect"},
	"logging.disable_existing_loggers":        {about: "without effect"},
	"logging.formatters":                      {about: "without effect, with a warning"},
	"logging.filters":                         {about: "without effect, with a warning"},
	"logging.handlers":                        {about: "of those that are used, the first one with a stream or a file counts"},
	"logging.loggers":                         {about: "level and handlers of `yacron2` count"},
	"logging.root":                            {about: "its level and handlers count"},
}
