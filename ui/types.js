// The wire types of the HTTP API, for the type checker alone: this module has no code.
// agent/openapi.yaml is what they follow. Instants are RFC 3339 text, durations seconds.

/** @typedef {'success'|'failure'|'cancelled'|'lost'} Outcome */
/** @typedef {'unknown'|'self'|'agreed'|'syncing'|'drifted'|'unreachable'|'untrusted'|'conflict'} PeerStatus */

/**
 * @typedef {object} Run
 * @property {Outcome} outcome
 * @property {number|null} exit_code
 * @property {string|null} started_at
 * @property {string} finished_at
 * @property {number|null} duration
 * @property {string|null} fail_reason
 * @property {string} [run_id]
 * @property {string} [firing]
 * @property {string} [trigger]
 * @property {number} [attempt]
 * @property {string} [node]
 * @property {string[]} [notes]
 * @property {number} [cpu_seconds]
 * @property {number} [max_rss_bytes]
 */

/** @typedef {{since: string, until: string|null, note: string|null, by: string|null}} Pause */
/** @typedef {{outcome: Outcome, duration: number|null}} HistoryEntry */

/**
 * @typedef {object} Job
 * @property {string} name
 * @property {boolean} enabled
 * @property {string} schedule
 * @property {string} command
 * @property {boolean} captureStdout
 * @property {boolean} captureStderr
 * @property {boolean} utc
 * @property {string|null} timezone
 * @property {boolean} running
 * @property {number[]} pids
 * @property {number|null} scheduled_in
 * @property {Run|null} last_run
 * @property {HistoryEntry[]} history
 * @property {string} [clusterPolicy]
 * @property {string|null} [clusterOwner]
 * @property {Pause} [paused]
 */

/** @typedef {{firing: string|null, at: string, code: string, reason: string}} Missed */

/**
 * @typedef {object} Stats
 * @property {number} total
 * @property {number} success
 * @property {number} failure
 * @property {number} cancelled
 * @property {number} [lost]
 * @property {number|null} success_rate
 * @property {number|null} avg_duration
 * @property {number|null} min_duration
 * @property {number|null} max_duration
 * @property {number|null} last_duration
 */

/** @typedef {{name: string, runs: Run[], missed?: Missed[], stats: Stats}} Runs */
/** @typedef {{at: string, local: string, note: string|null}} Firing */
/** @typedef {{name: string, enabled: boolean, schedule: string, timezone: string|null, firings: Firing[], concurrencyPolicy?: string, dayMatch?: string}} Next */
/** @typedef {{schedule: string, canonical: string, timezone: string|null, firings: Firing[], warnings: Problem[], jobs: string[], jobs_total: number}} SchedulePreview */

/**
 * @typedef {object} Decision
 * @property {string|null} first
 * @property {string|null} firing
 * @property {number} count
 * @property {string} at
 * @property {string} trigger
 * @property {string} outcome
 * @property {string} code
 * @property {string} reason
 * @property {string|null} owner
 */

/**
 * @typedef {object} Why
 * @property {string} name
 * @property {string} node
 * @property {{action: string, code: string, reason: string, owner: string|null}} [now]
 * @property {Decision[]} decisions
 * @property {Missed[]} missed
 * @property {Run[]} runs
 */

/** @typedef {{node_name: string, instance_id?: string, agreed: boolean, stopping?: boolean}} PeerMember */
/** @typedef {{use: string, expires: string}} Certificate */

/**
 * @typedef {object} Peer
 * @property {string} host
 * @property {PeerStatus} status
 * @property {string|null} job_set_id
 * @property {string|null} node_name
 * @property {string|null} last_seen
 * @property {string|null} last_error
 * @property {number} mismatch_streak
 * @property {string} [instance_id]
 * @property {boolean} [stopping]
 * @property {PeerMember[]} [members] what it tells of the others
 * @property {{ahead: number, within: number, excessive: boolean}} [clock]
 * @property {string} [certificate_expires]
 */

/**
 * @typedef {object} Cluster
 * @property {boolean} enabled
 * @property {Peer[]} peers
 * @property {string} [error]
 * @property {string} [backend]
 * @property {string} [node_name]
 * @property {string} [job_set_id]
 * @property {number} [cluster_size]
 * @property {number} [quorum]
 * @property {boolean} [elect_leader]
 * @property {'single-leader'|'spread'} [distribution]
 * @property {boolean} [conflict]
 * @property {string[]} [conflict_names]
 * @property {boolean} [size_conflict]
 * @property {number[]} [conflicting_sizes]
 * @property {boolean} [policy_conflict]
 * @property {string[]} [conflicting_policies]
 * @property {boolean} [quorate]
 * @property {string|null} [leader]
 * @property {boolean} [is_leader]
 * @property {Record<string, unknown>} [lease]
 * @property {string} [instance_id]
 * @property {boolean} [stopping]
 * @property {number} [agreeing]
 * @property {Certificate[]} [certificates]
 * @property {string[]} [troubles]
 */

/** @typedef {{outcome: string|null, finished_at: string|null, duration: number|null, exit_code: number|null}} FleetRun */
/** @typedef {{running: boolean, enabled: boolean, scheduled_in: number|null, last: FleetRun|null}} JobSummary */

/**
 * @typedef {object} FleetNode
 * @property {string|null} node_name
 * @property {string|null} host
 * @property {boolean} self
 * @property {PeerStatus} status
 * @property {string|null} as_of
 * @property {Record<string, JobSummary>|null} jobs
 * @property {boolean} truncated
 */

/**
 * @typedef {object} Fleet
 * @property {boolean} enabled
 * @property {FleetNode[]} nodes
 * @property {string} [node_name]
 * @property {string} [distribution]
 * @property {boolean} [elect_leader]
 * @property {number} [interval]
 */

/**
 * @typedef {object} Problem
 * @property {string} [file]
 * @property {number} [line]
 * @property {number} [column]
 * @property {string} [job]
 * @property {string} [key]
 * @property {string} message
 * @property {string} [hint]
 * @property {string} [source]
 */

/**
 * @typedef {object} ConfigStatus
 * @property {'loaded'|'failed'} state
 * @property {string} trigger
 * @property {string} at
 * @property {string} loaded_at
 * @property {string} job_set_id
 * @property {number} jobs
 * @property {number} reloads
 * @property {number} failures
 * @property {Problem[]} errors
 * @property {Problem[]} warnings
 */

/**
 * @typedef {object} Role
 * @property {boolean} enabled
 * @property {string|null} leader
 * @property {boolean} is_leader
 * @property {boolean} quorate
 * @property {boolean} conflict
 * @property {boolean} [stopping]
 * @property {string} [error]
 */

/**
 * @typedef {object} AgentEvent
 * @property {string} kind
 * @property {string} at
 * @property {string} node
 * @property {string} [job]
 * @property {string} [run_id]
 * @property {string} [trigger]
 * @property {number} [pid]
 * @property {boolean} [permanent]
 * @property {string} [retry_at]
 * @property {Run} [run]
 * @property {Missed} [missed]
 * @property {Role} [role]
 * @property {{host: string, node_name: string|null, status: PeerStatus, last_error: string|null, stopping?: boolean}} [member]
 * @property {{state: string, trigger: string, jobs: number, errors: number, warnings: number}} [reload]
 * @property {number} [lost]
 */

/** @typedef {{stream: 'stdout'|'stderr', line: string}} LogLine */

export {};
