// Made by `npm run types` from openapi.json (sha256 16c26461d19c3ef9c8f1f14f2699ca2cb18048515f579d6826e5bfa0bbb8a849); not to be changed by hand.
import type { Json, Obj } from './json'

export interface paths {
    "/api/catalog/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Register
         * @description As POST /api/v1/catalog; `content` may also be base64, `content_base64` is.
         */
        post: operations["register_api_catalog_register_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Credential
         * @description As PUT /api/v1/credentials/{name}, and says what it keeps: the original answered with an object.
         */
        post: operations["credential_api_credentials_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/execute": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Execute
         * @description As POST /api/v1/executions.
         */
        post: operations["execute_api_execute_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/executions/{execution_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Execution
         * @description As GET /api/v1/executions/{execution_id}, with the status in capitals, as the original wrote it.
         */
        get: operations["show_execution_api_executions__execution_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/about": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * About
         * @description What this server is: its version, its limits, and what the asker may do.
         */
        get: operations["about_api_v1_about_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Backfills
         * @description Backfills with their progress, the newest first.
         */
        get: operations["list_backfills_api_v1_backfills_get"];
        put?: never;
        /**
         * Add Backfill
         * @description Make up for the ticks of a span: one execution for each that has none; a dry run only tells them.
         */
        post: operations["add_backfill_api_v1_backfills_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills/{backfill_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Backfill
         * @description One backfill, and how far it is.
         */
        get: operations["show_backfill_api_v1_backfills__backfill_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills/{backfill_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel Backfill
         * @description Start no more ticks; what has begun goes on.
         */
        post: operations["cancel_backfill_api_v1_backfills__backfill_id__cancel_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills/{backfill_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause Backfill
         * @description Start no more ticks for now; what has begun goes on.
         */
        post: operations["pause_backfill_api_v1_backfills__backfill_id__pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills/{backfill_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume Backfill
         * @description Go on with a paused backfill.
         */
        post: operations["resume_backfill_api_v1_backfills__backfill_id__resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/backfills/{backfill_id}/ticks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Backfill Ticks
         * @description Its ticks and what became of each, the newest first.
         */
        get: operations["list_backfill_ticks_api_v1_backfills__backfill_id__ticks_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Playbooks
         * @description The newest version of every path in order of paths, or every version of one, the newest first.
         */
        get: operations["list_playbooks_api_v1_catalog_get"];
        put?: never;
        /**
         * Register
         * @description Register a playbook under its metadata.path; a changed text becomes the next version.
         */
        post: operations["register_api_v1_catalog_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/catalog/{path}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Playbook
         * @description One version of a playbook with its text.
         */
        get: operations["show_playbook_api_v1_catalog__path__get"];
        put?: never;
        post?: never;
        /**
         * Delete Playbook
         * @description Take a playbook, or one version of it, off the catalog; executions keep their text.
         */
        delete: operations["delete_playbook_api_v1_catalog__path__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Credentials
         * @description The names of credentials, and when each was last set.
         */
        get: operations["list_credentials_api_v1_credentials_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/credentials/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rotate
         * @description Seal every credential again with the newest key of the server.
         */
        post: operations["rotate_api_v1_credentials_rotate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/credentials/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description Which fields a credential has and when it was set; no value.
         */
        get: operations["show_api_v1_credentials__name__get"];
        /**
         * Put
         * @description Store a credential, sealed; one that has the name is replaced.
         */
        put: operations["put_api_v1_credentials__name__put"];
        post?: never;
        /**
         * Delete
         * @description Forget a credential.
         */
        delete: operations["delete_api_v1_credentials__name__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Deliveries
         * @description What was told, or is to be, the newest first.
         */
        get: operations["list_deliveries_api_v1_deliveries_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deliveries/{number}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Delivery
         * @description One delivery.
         */
        get: operations["show_delivery_api_v1_deliveries__number__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/deliveries/{number}/redeliver": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Redeliver
         * @description Tell something again, at once and under the same key.
         */
        post: operations["redeliver_api_v1_deliveries__number__redeliver_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Executions
         * @description Executions, the newest first; of those that went on from one another the last.
         */
        get: operations["list_executions_api_v1_executions_get"];
        put?: never;
        /**
         * Start
         * @description Start an execution of a registered playbook, or of a text; with `wait`, answer how it ended.
         */
        post: operations["start_api_v1_executions_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show
         * @description How an execution stands, from its projection: the size of its log does not matter.
         */
        get: operations["show_api_v1_executions__execution_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel
         * @description Stop an execution; what runs is interrupted.
         */
        post: operations["cancel_api_v1_executions__execution_id__cancel_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/data": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Data
         * @description ctx and workload with the event that wrote each key, and the outputs of runs.
         */
        get: operations["data_api_v1_executions__execution_id__data_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/diff/{other_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Diff
         * @description How two executions differ.
         */
        get: operations["diff_api_v1_executions__execution_id__diff__other_id__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events
         * @description The events of an execution in order, those that match.
         */
        get: operations["events_api_v1_executions__execution_id__events_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/found": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Found
         * @description A page of the events that match, wherever it lies, and how many match in all.
         */
        get: operations["found_api_v1_executions__execution_id__found_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Graph
         * @description The playbook that ran as steps and arcs, those that it was extended by included.
         */
        get: operations["graph_api_v1_executions__execution_id__graph_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Log
         * @description The log as it rests: decided messages with their events and the hash chain, bytes in base64.
         */
        get: operations["log_api_v1_executions__execution_id__log_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/logs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Logs
         * @description Lines that tasks wrote, and the errors that they ended with; about `limit` of them are looked at.
         */
        get: operations["logs_api_v1_executions__execution_id__logs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/logs/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Log Stream
         * @description What tasks write as Server-Sent Events `lines`: what there is at once, the rest as it is written.
         */
        get: operations["log_stream_api_v1_executions__execution_id__logs_stream_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/loops": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Loops
         * @description The runs that are loops.
         */
        get: operations["loops_api_v1_executions__execution_id__loops_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/loops/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Loop
         * @description Every iteration of a loop: its state, its start and its duration.
         */
        get: operations["loop_api_v1_executions__execution_id__loops__run__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/loops/{run}/{index}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Iteration
         * @description One iteration of a loop: its item, what it put out or why it failed.
         */
        get: operations["iteration_api_v1_executions__execution_id__loops__run___index__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/page": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Page
         * @description What an execution's page opens with: how it stands, its graph, its loops and its children.
         */
        get: operations["page_api_v1_executions__execution_id__page_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pause
         * @description Let an execution rest at the next task boundaries.
         */
        post: operations["pause_api_v1_executions__execution_id__pause_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/playbook": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Playbook
         * @description The playbook that an execution runs or ran, also when it is off the catalog.
         */
        get: operations["playbook_api_v1_executions__execution_id__playbook_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/progress": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Progress
         * @description The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits.
         */
        get: operations["progress_api_v1_executions__execution_id__progress_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/projection": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Projection
         * @description What stands beside the log as it rests: summary, end of the log, snapshot, bytes in base64.
         */
        get: operations["projection_api_v1_executions__execution_id__projection_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/pulse": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Pulse
         * @description How far the log has come and how the execution stands, as Server-Sent Events, until it is over.
         */
        get: operations["pulse_api_v1_executions__execution_id__pulse_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Release
         * @description Let an execution that is stuck go on; 409 when it is not, or cannot.
         */
        post: operations["release_api_v1_executions__execution_id__release_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/render": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Render
         * @description A template evaluated against an execution as it was after an event.
         */
        post: operations["render_api_v1_executions__execution_id__render_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/rerun": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rerun
         * @description A new execution that begins again at a step, perhaps with a changed playbook.
         */
        post: operations["rerun_api_v1_executions__execution_id__rerun_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Resume
         * @description Let a paused execution go on.
         */
        post: operations["resume_api_v1_executions__execution_id__resume_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry
         * @description A new execution that keeps what went well and goes on from what failed.
         */
        post: operations["retry_api_v1_executions__execution_id__retry_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/signal": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Signal
         * @description Give tasks that wait for a signal what they wait for.
         */
        post: operations["signal_api_v1_executions__execution_id__signal_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State
         * @description The state of an execution after an event: ctx, tokens, runs, what waits and for what.
         */
        get: operations["state_api_v1_executions__execution_id__state_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream
         * @description The events of an execution as Server-Sent Events: past ones at once, the others as they happen.
         */
        get: operations["stream_api_v1_executions__execution_id__stream_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/timeline": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Timeline
         * @description Runs, tasks, attempts and waits on a time axis, and the critical path.
         */
        get: operations["timeline_api_v1_executions__execution_id__timeline_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/executions/{execution_id}/why": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Why
         * @description The decisions of an execution explained in words, with the values they were made on.
         */
        get: operations["why_api_v1_executions__execution_id__why_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/graph": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Graph
         * @description A text's graph as far as it can be read, its findings, and the workload it declares.
         */
        post: operations["graph_api_v1_graph_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/hooks/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Call Hook
         * @description Start what a webhook starts, with the body in its workload; its secret proves who calls.
         *
         *     A trigger with a debounce or a batch collects it, one with a filter may let it go by.
         */
        post: operations["call_hook_api_v1_hooks__name__post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Notifications
         * @description Notifications by name.
         */
        get: operations["list_notifications_api_v1_notifications_get"];
        put?: never;
        /**
         * Add Notification
         * @description Make a notification: what is told of which playbooks, and to whom.
         */
        post: operations["add_notification_api_v1_notifications_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Notification
         * @description One notification.
         */
        get: operations["show_notification_api_v1_notifications__name__get"];
        /**
         * Put Notification
         * @description Make a notification, or put it in the place of the one that has the name.
         */
        put: operations["put_notification_api_v1_notifications__name__put"];
        post?: never;
        /**
         * Delete Notification
         * @description Forget a notification, what it was to tell, and what it told.
         */
        delete: operations["delete_notification_api_v1_notifications__name__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/notifications/{name}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send Sample
         * @description Tell a sample; how the first attempt went.
         */
        post: operations["send_sample_api_v1_notifications__name__test_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Overview
         * @description The last day: executions by status and hour, failures, what is under way, the slowest steps.
         */
        get: operations["overview_api_v1_overview_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/recent": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Recent
         * @description The newest executions of each playbook, also of one that others have run more often since.
         */
        get: operations["recent_api_v1_recent_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/results/{execution_id}/{digest}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Result
         * @description The payload of a reference, whose `locator.key` is `<execution_id>/<digest>`.
         */
        get: operations["result_api_v1_results__execution_id___digest__get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Schedules
         * @description Schedules by name, with their next and last tick.
         */
        get: operations["list_schedules_api_v1_schedules_get"];
        put?: never;
        /**
         * Add Schedule
         * @description Make a schedule: a playbook, and either a cron expression or an interval.
         */
        post: operations["add_schedule_api_v1_schedules_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Schedule
         * @description One schedule.
         */
        get: operations["show_schedule_api_v1_schedules__name__get"];
        /**
         * Put Schedule
         * @description Make a schedule, or put it in the place of the one that has the name.
         */
        put: operations["put_schedule_api_v1_schedules__name__put"];
        post?: never;
        /**
         * Delete Schedule
         * @description Forget a schedule; what it started goes on.
         */
        delete: operations["delete_schedule_api_v1_schedules__name__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run Schedule
         * @description Start at once what a schedule starts; its ticks stay where they are.
         */
        post: operations["run_schedule_api_v1_schedules__name__run_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schedules/{name}/ticks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Ticks
         * @description What became of its ticks, the newest first.
         */
        get: operations["list_ticks_api_v1_schedules__name__ticks_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Schema
         * @description The JSON Schema of playbooks for editors, or of one task of a kind.
         */
        get: operations["schema_api_v1_schema_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Session
         * @description Who one is here, and what changes of this session must carry.
         */
        get: operations["show_session_api_v1_session_get"];
        put?: never;
        /**
         * Log In
         * @description Begin a session of the web page with a token; the cookie is out of reach of scripts.
         */
        post: operations["log_in_api_v1_session_post"];
        /**
         * Log Out
         * @description End a session; the token of one that began at an OpenID provider ends with it.
         */
        delete: operations["log_out_api_v1_session_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Leave
         * @description Send somebody to the OpenID provider to log in; `place` is the page that they wanted.
         */
        get: operations["leave_api_v1_session_login_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/login/done": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Come Back
         * @description Begin a session for whom the provider has sent back.
         */
        get: operations["come_back_api_v1_session_login_done_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/session/ways": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ways
         * @description How somebody can log in to the web page.
         */
        get: operations["ways_api_v1_session_ways_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/ticks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Coming Ticks
         * @description The next ticks that such times have, and where clocks are put in between; nothing is kept.
         */
        get: operations["list_coming_ticks_api_v1_ticks_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Tokens
         * @description Tokens, the newest first: scopes, prefixes, when each expires. Never the token itself.
         */
        get: operations["list_tokens_api_v1_tokens_get"];
        put?: never;
        /**
         * Create
         * @description Make a token. The answer is the only place where it can ever be read.
         */
        post: operations["create_api_v1_tokens_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tokens/{token_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Delete
         * @description Let a token be good for nothing, within seconds.
         */
        delete: operations["delete_api_v1_tokens__token_id__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Tools
         * @description The installed tool kinds: inputs, knobs, what each returns, an example.
         */
        get: operations["tools_api_v1_tools_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Triggers
         * @description Triggers by name; no secret is in any answer but the one to its making.
         */
        get: operations["list_triggers_api_v1_triggers_get"];
        put?: never;
        /**
         * Add Trigger
         * @description Make a trigger. The secret of a webhook can only be read in this answer.
         */
        post: operations["add_trigger_api_v1_triggers_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Show Trigger
         * @description One trigger.
         */
        get: operations["show_trigger_api_v1_triggers__name__get"];
        /**
         * Put Trigger
         * @description Make a trigger, or put it in the place of the one that has the name; a secret not given stays.
         */
        put: operations["put_trigger_api_v1_triggers__name__put"];
        post?: never;
        /**
         * Delete Trigger
         * @description Forget a trigger and its secret.
         */
        delete: operations["delete_trigger_api_v1_triggers__name__delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{name}/arrivals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List Arrivals
         * @description What arrived for a trigger and what became of it, the newest first.
         */
        get: operations["list_arrivals_api_v1_triggers__name__arrivals_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/triggers/{name}/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Run Trigger
         * @description Start what a trigger starts, with a payload, as if a message had said it.
         */
        post: operations["run_trigger_api_v1_triggers__name__run_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Uses
         * @description Which registered playbooks name which credential.
         */
        get: operations["uses_api_v1_uses_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/validate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Validate
         * @description Check a text: everything that is wrong, where, and how to put it right. Nothing is kept.
         */
        post: operations["validate_api_v1_validate_post"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/waits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Waits
         * @description What waits for a signal or an approval in any execution, the oldest first.
         */
        get: operations["waits_api_v1_waits_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/workers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Workers
         * @description The workers that were heard of lately, and what each has in hand.
         */
        get: operations["workers_api_v1_workers_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Live
         * @description The process answers.
         */
        get: operations["live_health_live_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Ready
         * @description The store answers, and no work has been due for long.
         */
        get: operations["ready_health_ready_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Metrics
         * @description What is counted and measured, in Prometheus' text format.
         */
        get: operations["metrics_metrics_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * AboutAnswer
         * @description What a server is.
         */
        AboutAnswer: {
            kinds: string[];
            limits: components["schemas"]["Limits"];
            version: string;
            you: components["schemas"]["You"];
        };
        /**
         * ArcProgress
         * @description What an arc was asked so far, and what its guard saw last.
         */
        ArcProgress: {
            asked: boolean;
            from: string;
            matched: boolean;
            not_asked: number;
            not_taken: number;
            order: number;
            seen: Obj;
            seq: number;
            set: Json[][];
            taken: number;
            to: string;
        };
        /**
         * ArrivalItem
         * @description Something that arrived for a trigger, and what became of it.
         */
        ArrivalItem: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            attempts: number;
            error: string | null;
            execution_id: string | null;
            id: number;
            next_at: string | null;
            settled_at: string | null;
            /** @enum {string} */
            state: "failed" | "filtered" | "fired" | "pending" | "superseded";
            what: Json;
        };
        /**
         * ArrivalPage
         * @description What arrived, the newest first, and where the next page begins.
         */
        ArrivalPage: {
            cursor: string | null;
            items: components["schemas"]["ArrivalItem"][];
        };
        /**
         * AskedWait
         * @description A task that waits for somebody: its question or the name of the signal; since when its run goes on.
         */
        AskedWait: {
            address: string;
            approval: string | null;
            execution_id: string;
            expires: string | null;
            path: string;
            run: string;
            signal: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            since: string;
            step: string;
            task: string;
        };
        /**
         * AttemptItem
         * @description One try to deliver: when, how long it took, and what the other side answered.
         */
        AttemptItem: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            code: number | null;
            error: string | null;
            ms: number;
        };
        /**
         * BackfillAnswer
         * @description A backfill; of a dry run its ticks, and the executions that some of the first have already.
         */
        BackfillAnswer: {
            by: string;
            counts: {
                [key: string]: number;
            };
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            cron: string | null;
            every_s: number | null;
            existing: {
                [key: string]: string;
            };
            /** @description ISO 8601 in UTC, with milliseconds */
            from: string;
            id: string;
            parallel: number;
            path: string;
            schedule: string | null;
            /** @enum {unknown} */
            status: "cancelled" | "done" | "paused" | "running";
            ticks: string[];
            timezone: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            to: string;
            total: number;
            version: number | null;
            workload: Obj;
        };
        /**
         * BackfillBody
         * @description A backfill that is wanted: of a schedule, or of a playbook with its own cron expression or interval.
         */
        BackfillBody: {
            /** @default null */
            cron?: string | null;
            /** @default false */
            dry_run?: boolean;
            /** @default null */
            every_s?: number | null;
            from: string;
            /** @default 1 */
            parallel?: number;
            /** @default null */
            path?: string | null;
            /** @default null */
            schedule?: string | null;
            /** @default null */
            timezone?: string | null;
            to: string;
            /** @default null */
            version?: number | null;
            /** @default null */
            workload?: Obj | null;
        };
        /**
         * BackfillItem
         * @description A backfill, and how many of its ticks stand how.
         */
        BackfillItem: {
            by: string;
            counts: {
                [key: string]: number;
            };
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            cron: string | null;
            every_s: number | null;
            /** @description ISO 8601 in UTC, with milliseconds */
            from: string;
            id: string;
            parallel: number;
            path: string;
            schedule: string | null;
            /** @enum {unknown} */
            status: "cancelled" | "done" | "paused" | "running";
            timezone: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            to: string;
            total: number;
            version: number | null;
            workload: Obj;
        };
        /**
         * BackfillPage
         * @description Backfills, the newest first.
         */
        BackfillPage: {
            cursor: string | null;
            items: components["schemas"]["BackfillItem"][];
        };
        /**
         * Begun
         * @description An execution that was asked for.
         */
        Begun: {
            execution_id: string;
            path?: string;
            status: string;
        };
        /**
         * BriefError
         * @description Why an execution failed, as far as lists tell it.
         */
        BriefError: {
            kind: string;
            message: string;
            step: string | null;
        };
        /**
         * Bucket
         * @description Executions that ended in a part of the span, and those that began in it and go on.
         */
        Bucket: {
            active: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            cancelled: number;
            completed: number;
            failed: number;
            waiting: number;
        };
        /**
         * Called
         * @description What a call of a webhook started; nothing yet when it was collected, nothing at all when filtered.
         */
        Called: {
            execution_id: string | null;
            path: string;
            status: string;
        };
        /**
         * CatalogEntry
         * @description One version of a registered playbook, without its text.
         */
        CatalogEntry: {
            by: string | null;
            description: string | null;
            file: string | null;
            hash: string;
            labels: {
                [key: string]: string;
            };
            path: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            registered_at: string;
            version: number;
        };
        /**
         * CatalogPage
         * @description A page of the catalog, and where the next one begins.
         */
        CatalogPage: {
            cursor: string | null;
            items: components["schemas"]["CatalogEntry"][];
        };
        /**
         * CatalogText
         * @description One version of a registered playbook.
         */
        CatalogText: {
            by: string | null;
            description: string | null;
            file: string | null;
            hash: string;
            labels: {
                [key: string]: string;
            };
            path: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            registered_at: string;
            text: string;
            version: number;
        };
        /**
         * Change
         * @description A place at which two values differ; a side that has nothing there is absent.
         */
        Change: {
            a?: Json;
            b?: Json;
            path: string;
        };
        /**
         * ComingItem
         * @description A tick to come: the moment, and what clocks in its time zone show then.
         */
        ComingItem: {
            clocks: ("back" | "forward") | null;
            local: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            tick: string;
        };
        /**
         * ComingPage
         * @description Ticks to come, the next one first.
         */
        ComingPage: {
            cursor: string | null;
            items: components["schemas"]["ComingItem"][];
        };
        /**
         * Counts
         * @description How much happened in an execution; failed iterations are of loops that went on without them.
         */
        Counts: {
            events: number;
            failed_iterations: number;
            iterations: number;
            steps: number;
            tasks: number;
        };
        /**
         * CredentialAnswer
         * @description A credential with the names of its fields; no answer has a value.
         */
        CredentialAnswer: {
            fields: string[];
            name: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            set_at: string;
        };
        /**
         * CredentialItem
         * @description A credential by its name; no answer has a value.
         */
        CredentialItem: {
            name: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            set_at: string;
        };
        /**
         * CredentialList
         * @description Every credential by name.
         */
        CredentialList: {
            cursor: string | null;
            items: components["schemas"]["CredentialItem"][];
        };
        /**
         * DataAnswer
         * @description ctx and workload with the event that wrote each key, and the outputs of runs.
         */
        DataAnswer: {
            ctx: Obj;
            outputs: components["schemas"]["RunOutput"][];
            seq: number;
            workload: Json;
            writers: {
                [key: string]: components["schemas"]["Writer"];
            };
        };
        /**
         * Deleted
         * @description How many versions were taken off the catalog.
         */
        Deleted: {
            deleted: number;
        };
        /**
         * DeliveryItem
         * @description What somebody is told: `key` is the same however often it is sent.
         */
        DeliveryItem: {
            answers: components["schemas"]["AttemptItem"][];
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            attempts: number;
            code: number | null;
            error: string | null;
            event: string;
            execution_id: string | null;
            id: number;
            key: string;
            next_at: string | null;
            notification: string;
            path: string;
            settled_at: string | null;
            /** @enum {unknown} */
            state: "delivered" | "failed" | "pending";
            step: string | null;
        };
        /**
         * DeliveryPage
         * @description Deliveries, the newest first, and where the next page begins.
         */
        DeliveryPage: {
            cursor: string | null;
            items: components["schemas"]["DeliveryItem"][];
        };
        /**
         * DiffAnswer
         * @description How two executions differ; a pair is there only where they do, and what goes beyond is counted.
         */
        DiffAnswer: {
            a: string;
            b: string;
            ctx: components["schemas"]["Change"][];
            error: Json[] | null;
            kept: string[];
            left_out: {
                [key: string]: number;
            };
            outputs: components["schemas"]["Change"][];
            path: string[];
            playbook: [
                string,
                string
            ] | null;
            same: boolean;
            status: [
                string,
                string
            ] | null;
            timing_ms: {
                [key: string]: [
                    number | null,
                    number | null
                ];
            };
            workload: components["schemas"]["Change"][];
        };
        /**
         * EventEnvelope
         * @description One event of an execution; ids that do not apply are absent.
         */
        EventEnvelope: {
            attempt?: number;
            data: Obj;
            entity: string;
            entity_id: string;
            event_id: string;
            execution_id: string;
            index?: number | number[];
            iteration_id?: string;
            lease_epoch?: number;
            name: string;
            parent_id?: string;
            seq: number;
            /** @enum {unknown} */
            source: "server" | "worker";
            status: string;
            step?: string;
            step_run_id?: string;
            task_label?: string;
            task_run_id?: string;
            trace_id: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            ts: string;
            visit?: number;
            worker_id?: string;
        };
        /**
         * EventPage
         * @description Events in order, and the number at which the next page begins.
         */
        EventPage: {
            items: components["schemas"]["EventEnvelope"][];
            next: number | null;
        };
        /**
         * ExecutionAnswer
         * @description How an execution stands.
         */
        ExecutionAnswer: {
            by: string | null;
            continued_as: string | null;
            continued_from: string | null;
            counts: components["schemas"]["Counts"];
            ctx: Obj;
            duration_ms: number;
            ended_at: string | null;
            error: components["schemas"]["RunError"] | null;
            execution_id: string;
            expected_ms?: number;
            failures: components["schemas"]["Failure"][];
            failures_left_out?: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            late_at?: string;
            log: string | null;
            output: Json;
            parent: components["schemas"]["ParentOf"] | null;
            playbook: components["schemas"]["PlaybookVersion"];
            /** @description ISO 8601 in UTC, with milliseconds */
            requested_at: string;
            retry_of: string | null;
            started_at: string | null;
            /** @enum {string} */
            status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" | "stuck" | "waiting";
            steps: {
                [key: string]: components["schemas"]["StepStanding"];
            };
            stuck?: components["schemas"]["StuckAnswer"];
            workload: Json;
        };
        /**
         * ExecutionItem
         * @description An execution as lists show it.
         */
        ExecutionItem: {
            by: string | null;
            continued_as: string | null;
            continued_from: string | null;
            counts: components["schemas"]["Counts"] | null;
            duration_ms: number;
            ended_at: string | null;
            error: components["schemas"]["BriefError"] | null;
            execution_id: string;
            expected_ms: number | null;
            failed_iterations: number;
            interrupted: boolean;
            labels: {
                [key: string]: string;
            };
            late_at: string | null;
            parent: string | null;
            playbook: components["schemas"]["PlaybookVersion"];
            /** @description ISO 8601 in UTC, with milliseconds */
            requested_at: string;
            retry_of: string | null;
            started_at: string | null;
            /** @enum {string} */
            status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" | "stuck" | "waiting";
        };
        /**
         * ExecutionPage
         * @description A page of executions, the newest first, and where the next one begins.
         */
        ExecutionPage: {
            cursor: string | null;
            items: components["schemas"]["ExecutionItem"][];
        };
        /**
         * Failure
         * @description A failure that an arc took, and whether the arc's guard asked about it.
         */
        Failure: {
            answered: boolean;
            error: components["schemas"]["RunError"];
            step: string;
            taken_by: string;
        };
        /**
         * FailureGroup
         * @description Failures of one playbook that are alike: how many, where, what the newest of them says.
         */
        FailureGroup: {
            count: number;
            kind: string;
            message: string;
            newest: components["schemas"]["ExecutionItem"];
            step: string | null;
        };
        /**
         * Finding
         * @description One finding about a playbook.
         */
        Finding: {
            code: string;
            column: number;
            hint: string | null;
            line: number;
            message: string;
            path: string;
            /** @enum {unknown} */
            severity: "error" | "info" | "warning";
        };
        /**
         * Findings
         * @description What was found in a text.
         */
        Findings: {
            diagnostics: components["schemas"]["Finding"][];
            errors: number;
            infos: number;
            /** @default null */
            path?: string | null;
            warnings: number;
        };
        /**
         * FireBody
         * @description What a message would have said.
         */
        FireBody: {
            /** @default null */
            idempotency_key?: string | null;
            /** @default null */
            payload?: Json;
        };
        /**
         * FoundAnswer
         * @description A page of the events that match, and how many match in all.
         */
        FoundAnswer: {
            items: components["schemas"]["EventEnvelope"][];
            total: number;
        };
        /**
         * GraphAnswer
         * @description A playbook as steps and arcs.
         */
        GraphAnswer: {
            arcs: components["schemas"]["GraphArc"][];
            entry: string;
            name: string;
            path: string;
            steps: components["schemas"]["GraphStep"][];
        };
        /**
         * GraphArc
         * @description An arc as a graph shows it.
         */
        GraphArc: {
            from: string;
            line: number;
            /** @enum {unknown} */
            mode: "exclusive" | "inclusive";
            order: number;
            to: string;
            when: string | null;
        };
        /**
         * GraphStep
         * @description A step as a graph shows it.
         */
        GraphStep: {
            admission: boolean;
            desc: string | null;
            end: boolean;
            entry: boolean;
            join: ("all" | "each" | "first" | "sync") | null;
            kinds: string[];
            line: number;
            loop: string | null;
            step: string;
        };
        /**
         * GuardSeen
         * @description What a guard of an admission rule came to, and the values it saw.
         */
        GuardSeen: {
            seen: Obj;
            value: boolean;
        };
        /**
         * Health
         * @description Whether the server can do its work.
         */
        Health: {
            overdue_ms?: number;
            /** @enum {unknown} */
            status: "behind" | "ok";
        };
        /**
         * Hold
         * @description Why a token is held: branches from which another one may still come.
         */
        Hold: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            seq: number;
            waits_for: string[];
        };
        /**
         * IterationAnswer
         * @description One iteration of a loop: its item, what it put out or why it failed.
         */
        IterationAnswer: {
            error: components["schemas"]["RunError"] | null;
            index: number;
            item: Json;
            output: Json;
            ref: components["schemas"]["StoredRef"] | null;
            run: string;
        };
        /**
         * IterationCounts
         * @description Iterations by state; kept ones come from the execution that this one goes on from.
         */
        IterationCounts: {
            done: number;
            failed: number;
            kept: number;
            queued: number;
            running: number;
        };
        /**
         * IterationError
         * @description Why an iteration failed.
         */
        IterationError: {
            attempt: number | null;
            kind: string | null;
            message: string | null;
            task: string | null;
        };
        /**
         * LeaseItem
         * @description A run in a worker's hands: since when, and how long ago it was last heard of.
         */
        LeaseItem: {
            age_ms?: number;
            epoch?: number;
            execution_id: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            since?: string;
            step_run_id: string;
        };
        /**
         * LegacyCredentialBody
         * @description What clients of the original send to store a credential; fields beyond these are left unread.
         */
        LegacyCredentialBody: {
            data: Obj;
            name: string;
        };
        /**
         * LegacyExecuteBody
         * @description What clients of the original send to run a playbook; fields beyond these are left unread.
         */
        LegacyExecuteBody: {
            /** @default null */
            args?: Obj | null;
            /** @default null */
            input_payload?: Obj | null;
            /** @default null */
            parameters?: Obj | null;
            /** @default null */
            path?: string | null;
            /** @default null */
            payload?: Obj | null;
            /** @default null */
            playbook_id?: string | null;
            /** @default null */
            version?: number | string | null;
            /** @default null */
            workload?: Obj | null;
        };
        /**
         * LegacyExecutionAnswer
         * @description How an execution stands, with the status as clients of the original wait for it.
         */
        LegacyExecutionAnswer: {
            by: string | null;
            continued_as: string | null;
            continued_from: string | null;
            counts: components["schemas"]["Counts"];
            ctx: Obj;
            duration_ms: number;
            ended_at: string | null;
            error: components["schemas"]["RunError"] | null;
            execution_id: string;
            expected_ms?: number;
            failures: components["schemas"]["Failure"][];
            failures_left_out?: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            late_at?: string;
            log: string | null;
            output: Json;
            parent: components["schemas"]["ParentOf"] | null;
            playbook: components["schemas"]["PlaybookVersion"];
            /** @description ISO 8601 in UTC, with milliseconds */
            requested_at: string;
            retry_of: string | null;
            started_at: string | null;
            /** @enum {string} */
            status: "CANCELLED" | "COMPLETED" | "FAILED" | "PAUSED" | "PENDING" | "RUNNING" | "STUCK" | "WAITING";
            steps: {
                [key: string]: components["schemas"]["StepStanding"];
            };
            stuck?: components["schemas"]["StuckAnswer"];
            workload: Json;
        };
        /**
         * LegacyRegisterBody
         * @description What clients of the original send to register a playbook; fields beyond these are left unread.
         */
        LegacyRegisterBody: {
            /** @default null */
            content?: string | null;
            /** @default null */
            content_base64?: string | null;
            /** @default null */
            playbook?: string | null;
        };
        /**
         * Limits
         * @description What a server lets through.
         */
        Limits: {
            body_bytes: number;
            ready_after_ms: number;
        };
        /**
         * LinesPage
         * @description Some lines in order; `next` is where reading goes on, `more` whether there is something now.
         */
        LinesPage: {
            items: components["schemas"]["LogLine"][];
            more: boolean;
            next: string;
        };
        /**
         * Locator
         * @description Where in the result store a payload is.
         */
        Locator: {
            key: string;
            store: string;
        };
        /**
         * LogLine
         * @description One line that a task wrote, or of the error that it ended with.
         */
        LogLine: {
            attempt: number | null;
            execution_id: string;
            iteration: string | null;
            level: string | null;
            run: string;
            step: string;
            task: string;
            text: string;
            ts: string;
        };
        /**
         * LogPage
         * @description Rows in order, and the event at which the next page begins.
         */
        LogPage: {
            items: components["schemas"]["LogRow"][];
            next: number | null;
        };
        /**
         * LogRow
         * @description One row of the log as it rests; bytes are in base64.
         */
        LogRow: {
            batch: string | null;
            body: string;
            cause: string;
            first: number;
            format: number;
            hash: string;
            last: number;
            seal: string | null;
            ts: number;
        };
        /**
         * LoginWays
         * @description How somebody can log in to the web page: with a token, and at which OpenID provider, if any.
         */
        LoginWays: {
            provider: string | null;
            token: boolean;
        };
        /**
         * LoopAnswer
         * @description Every iteration of a loop: a mark for its state, its start and its duration, -1 where there is none.
         */
        LoopAnswer: {
            batches?: number;
            counts: components["schemas"]["IterationCounts"];
            ended: boolean;
            errors: {
                [key: string]: components["schemas"]["IterationError"];
            };
            marks: string;
            retries: {
                [key: string]: number;
            };
            run: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            scheduled_at: string;
            started: number[];
            step: string;
            took: number[];
            total: number;
        };
        /**
         * LoopCounts
         * @description Iterations of a loop that is on its way by state; `total` is null while more may be claimed.
         */
        LoopCounts: {
            batches?: number;
            claimed?: number;
            done: number;
            failed: number;
            queued: number;
            running: number;
            total: number | null;
        };
        /**
         * LoopOutcome
         * @description How the iterations of a loop ended so far.
         */
        LoopOutcome: {
            done: number;
            failed: number;
            total: number;
        };
        /**
         * LoopRuns
         * @description The runs that are loops.
         */
        LoopRuns: {
            items: string[];
        };
        /**
         * NewTokenAnswer
         * @description A token, shown this once.
         */
        NewTokenAnswer: {
            by: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            expires_at: string | null;
            id: string;
            name: string;
            pools: string[];
            prefixes: string[];
            scopes: string[];
            token: string;
        };
        /**
         * NewTriggerAnswer
         * @description A trigger, and its secret if that was made or given: shown this once.
         */
        NewTriggerAnswer: {
            after: string[];
            as: string;
            auth: string | null;
            batch: components["schemas"]["TriggerBatch"] | null;
            by: string;
            children: boolean;
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            debounce: string | null;
            enabled: boolean;
            every: string;
            existing: boolean;
            filter: string | null;
            hook: string | null;
            /** @enum {unknown} */
            kind: "nats" | "object" | "playbook" | "webhook";
            last_at: string | null;
            last_error: string | null;
            last_execution: string | null;
            /** @enum {unknown} */
            match: "all" | "any";
            name: string;
            on: ("completed" | "failed")[];
            path: string;
            pending: number;
            queue: string | null;
            secret: string | null;
            source: string | null;
            subject: string | null;
            version: number | null;
            workload: Obj;
        };
        /**
         * NotificationBody
         * @description A notification that is wanted: what is told of which playbooks, and to whom.
         */
        NotificationBody: {
            /** @default null */
            auth?: string | null;
            /** @default false */
            children?: boolean;
            /** @default true */
            enabled?: boolean;
            name: string;
            on?: ("completed" | "failed" | "late" | "stuck" | "waiting")[];
            /** @default * */
            path?: string;
            to: string;
        };
        /**
         * NotificationChange
         * @description What is told of which playbooks, and to whom.
         */
        NotificationChange: {
            /** @default null */
            auth?: string | null;
            /** @default false */
            children?: boolean;
            /** @default true */
            enabled?: boolean;
            on?: ("completed" | "failed" | "late" | "stuck" | "waiting")[];
            /** @default * */
            path?: string;
            to: string;
        };
        /**
         * NotificationItem
         * @description A notification; its secrets are in the credential that `auth` names.
         */
        NotificationItem: {
            auth: string | null;
            by: string;
            children: boolean;
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            enabled: boolean;
            name: string;
            on: ("completed" | "failed" | "late" | "stuck" | "waiting")[];
            path: string;
            to: string;
        };
        /**
         * NotificationPage
         * @description Notifications by name, and where the next page begins.
         */
        NotificationPage: {
            cursor: string | null;
            items: components["schemas"]["NotificationItem"][];
        };
        /**
         * OverviewAnswer
         * @description The last day: executions by status and hour, failures, what is under way, the slowest steps.
         */
        OverviewAnswer: {
            active: components["schemas"]["ExecutionItem"][];
            bucket_ms: number;
            buckets: components["schemas"]["Bucket"][];
            counts: components["schemas"]["StatusCounts"];
            failures: components["schemas"]["FailureGroup"][];
            overdue_ms: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            since: string;
            slowest: components["schemas"]["SlowStep"][];
        };
        /**
         * PageAnswer
         * @description What an execution's page opens with.
         */
        PageAnswer: {
            children: components["schemas"]["ExecutionItem"][];
            graph: components["schemas"]["GraphAnswer"] | null;
            loops: string[];
            progress: components["schemas"]["ProgressAnswer"];
            summary: components["schemas"]["ExecutionAnswer"];
        };
        /**
         * ParentOf
         * @description The run of another execution that called this one.
         */
        ParentOf: {
            at: string;
            depth: number;
            execution_id: string;
            path: string;
            run: string;
            waits: boolean;
        };
        /**
         * PlaybookVersion
         * @description Which playbook it is.
         */
        PlaybookVersion: {
            executor_version?: string;
            hash: string;
            path: string;
            version: number | null;
        };
        /**
         * ProblemAnswer
         * @description What went wrong (RFC 9457).
         */
        ProblemAnswer: {
            code: string;
            detail: string;
            diagnostics?: components["schemas"]["Finding"][];
            /** @default null */
            hint?: string | null;
            status: number;
            title: string;
            type: string;
        };
        /**
         * ProgressAnswer
         * @description The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits.
         */
        ProgressAnswer: {
            arcs: components["schemas"]["ArcProgress"][];
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            error: components["schemas"]["RunError"] | null;
            execution_id: string;
            history: components["schemas"]["Turn"][];
            refused: components["schemas"]["Refusal"][];
            seq: number;
            /** @enum {string} */
            status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" | "stuck" | "waiting";
            steps: {
                [key: string]: components["schemas"]["StepProgress"];
            };
            tokens: components["schemas"]["TokenProgress"][];
            waits: components["schemas"]["Wait"][];
        };
        /**
         * ProjectionView
         * @description What stands beside a log as its last commit left it: `replay` holds the log against it.
         */
        ProjectionView: {
            head: string;
            seq: number;
            snapshot: components["schemas"]["SnapshotView"] | null;
            summary: components["schemas"]["SummaryView"];
        };
        /**
         * Reason
         * @description One thing that happened and why: the event that says so, what it is about, the sentence, the facts.
         */
        Reason: {
            about: string;
            facts: Obj;
            run: string | null;
            seq: number;
            step: string | null;
            text: string;
        };
        /**
         * RecentAnswer
         * @description The newest executions of each playbook, among the newest of all.
         */
        RecentAnswer: {
            items: {
                [key: string]: components["schemas"]["ExecutionItem"][];
            };
        };
        /**
         * Refusal
         * @description A token that a step did not let in.
         */
        Refusal: {
            from: string | null;
            guards: components["schemas"]["GuardSeen"][] | null;
            reason: string | null;
            rule: number | string | null;
            seq: number;
            step: string;
        };
        /**
         * RegisterBody
         * @description A playbook to register.
         */
        RegisterBody: {
            playbook: string;
        };
        /**
         * RenderBody
         * @description A template, and the event after which it is evaluated, else the newest.
         */
        RenderBody: {
            /** @default null */
            at?: number | null;
            template: string;
        };
        /**
         * Rendered
         * @description What a template evaluates to.
         */
        Rendered: {
            value: Json;
        };
        /**
         * RerunBody
         * @description Where to begin again, perhaps with a changed playbook.
         */
        RerunBody: {
            from: string;
            /** @default null */
            playbook?: string | null;
        };
        /**
         * ResultSlice
         * @description A stored payload, or a part of it.
         */
        ResultSlice: {
            content_type: string;
            data: Json;
            offset: number;
            total: number | null;
        };
        /**
         * RetryBody
         * @description Where to go on: at a step, else at what failed.
         */
        RetryBody: {
            /** @default null */
            step?: string | null;
        };
        /**
         * RunError
         * @description Why something failed, and where.
         */
        RunError: {
            attempt?: number;
            code?: string | null;
            details?: Obj;
            iteration?: number | number[];
            kind: string;
            message: string;
            retryable?: boolean;
            shortened?: boolean;
            step?: string;
            task?: string;
        };
        /**
         * RunLine
         * @description One run on the time axis, in milliseconds since the start.
         */
        RunLine: {
            ended: number | null;
            from: string[];
            left_out: number;
            loop?: components["schemas"]["LoopOutcome"];
            run: string;
            scheduled: number;
            started: number | null;
            status: string;
            step: string;
            tasks: components["schemas"]["TaskBar"][];
            worker: string | null;
        };
        /**
         * RunOutput
         * @description What a run put out.
         */
        RunOutput: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            bytes: number | null;
            data: Json;
            error: components["schemas"]["RunError"] | null;
            loop: Obj;
            ref: components["schemas"]["StoredRef"] | null;
            run: string;
            seq: number;
            status: string;
            step: string;
        };
        /**
         * RunStanding
         * @description A run that has not ended.
         */
        RunStanding: {
            id: string;
            loop?: components["schemas"]["LoopCounts"];
            /** @description ISO 8601 in UTC, with milliseconds */
            scheduled_at: string;
            started_at: string | null;
            /** @enum {string} */
            status: "queued" | "running" | "waiting";
            step: string;
            waiting: components["schemas"]["Waiting"][];
            workers: string[];
        };
        /**
         * ScheduleBody
         * @description A schedule that is wanted.
         */
        ScheduleBody: {
            /**
             * @default latest
             * @enum {unknown}
             */
            catch_up?: "all" | "latest" | "none" | "one" | "skip";
            /** @default null */
            cron?: string | null;
            /** @default true */
            enabled?: boolean;
            /** @default null */
            every_s?: number | null;
            name: string;
            /**
             * @default skip
             * @enum {unknown}
             */
            overlap?: "allow" | "queue" | "replace" | "skip";
            path: string;
            /** @default UTC */
            timezone?: string;
            /** @default null */
            version?: number | null;
            /** @default {} */
            workload?: Obj;
        };
        /**
         * ScheduleChange
         * @description What a schedule starts and when: by a cron expression in a time zone, or every so many seconds.
         */
        ScheduleChange: {
            /**
             * @default latest
             * @enum {unknown}
             */
            catch_up?: "all" | "latest" | "none" | "one" | "skip";
            /** @default null */
            cron?: string | null;
            /** @default true */
            enabled?: boolean;
            /** @default null */
            every_s?: number | null;
            /**
             * @default skip
             * @enum {unknown}
             */
            overlap?: "allow" | "queue" | "replace" | "skip";
            path: string;
            /** @default UTC */
            timezone?: string;
            /** @default null */
            version?: number | null;
            /** @default {} */
            workload?: Obj;
        };
        /**
         * ScheduleItem
         * @description A schedule with its next and its last tick.
         */
        ScheduleItem: {
            by: string;
            /** @enum {unknown} */
            catch_up: "all" | "latest" | "none" | "one" | "skip";
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            cron: string | null;
            enabled: boolean;
            every_s: number | null;
            last_at: string | null;
            last_error: string | null;
            last_execution: string | null;
            name: string;
            next_at: string | null;
            /** @enum {unknown} */
            overlap: "allow" | "queue" | "replace" | "skip";
            path: string;
            skipped: components["schemas"]["SkippedTicks"] | null;
            timezone: string;
            version: number | null;
            workload: Obj;
        };
        /**
         * SchedulePage
         * @description Schedules by name, and where the next page begins.
         */
        SchedulePage: {
            cursor: string | null;
            items: components["schemas"]["ScheduleItem"][];
        };
        /**
         * Sealed
         * @description How many credentials were sealed again.
         */
        Sealed: {
            sealed: number;
        };
        /**
         * SessionAnswer
         * @description Who one is, and what changes of a session carry in the header X-CSRF-Token.
         */
        SessionAnswer: {
            csrf: string | null;
            name: string;
            prefixes: string[];
            scopes: string[];
        };
        /**
         * SessionBody
         * @description The token a session begins with.
         */
        SessionBody: {
            token: string;
        };
        /**
         * SignalBody
         * @description A signal for tasks that wait.
         */
        SignalBody: {
            name: string;
            /** @default null */
            payload?: Json;
        };
        /**
         * SketchAnswer
         * @description A text's graph as far as it can be read, its findings, and the workload it declares.
         */
        SketchAnswer: {
            diagnostics: components["schemas"]["Finding"][];
            graph: components["schemas"]["GraphAnswer"] | null;
            workload: Obj;
        };
        /**
         * SkippedTicks
         * @description Ticks that were due and started nothing: the newest such span, why, and how many there ever were.
         */
        SkippedTicks: {
            count: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            from: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            to: string;
            total: number;
            why: string;
        };
        /**
         * SlowStep
         * @description A step and how long it took of late.
         */
        SlowStep: {
            execution_id: string;
            max_ms: number;
            mean_ms: number;
            path: string;
            runs: number;
            step: string;
        };
        /**
         * SnapshotView
         * @description A state as it rests: after which event, the link of the hash chain there, and the state itself.
         */
        SnapshotView: {
            hash: string;
            seq: number;
            state: string;
        };
        /**
         * StartBody
         * @description What to run: the path of a registered playbook, or a playbook's text.
         */
        StartBody: {
            /** @default null */
            idempotency_key?: string | null;
            /** @default null */
            path?: string | null;
            /** @default null */
            playbook?: string | null;
            /** @default null */
            playbook_id?: string | null;
            /** @default null */
            until?: string | null;
            /** @default null */
            version?: number | null;
            /** @default null */
            workload?: Obj | null;
        };
        /**
         * StateAnswer
         * @description The state of an execution after an event.
         */
        StateAnswer: {
            ctx: Obj;
            error: components["schemas"]["RunError"] | null;
            execution_id: string;
            failures: components["schemas"]["Failure"][];
            last_seq: number;
            output: Json;
            runs: components["schemas"]["RunStanding"][];
            seq: number;
            /** @enum {string} */
            status: "cancelled" | "completed" | "failed" | "paused" | "pending" | "running" | "stuck" | "waiting";
            steps: {
                [key: string]: components["schemas"]["StepStanding"];
            };
            tokens: components["schemas"]["TokenStanding"][];
            workload: Json;
        };
        /**
         * StatusCounts
         * @description Executions by status.
         */
        StatusCounts: {
            cancelled: number;
            completed: number;
            failed: number;
            paused: number;
            pending: number;
            running: number;
            stuck: number;
            waiting: number;
        };
        /**
         * StepProgress
         * @description All runs of one step so far.
         */
        StepProgress: {
            done: number;
            duration_ms: number;
            ended_at: string | null;
            error: components["schemas"]["RunError"] | null;
            failed: number;
            loop: components["schemas"]["LoopCounts"] | null;
            refused: number;
            retries: number;
            running: number;
            runs: number;
            started_at: string | null;
            /** @enum {string} */
            status: "done" | "failed" | "idle" | "kept" | "queued" | "refused" | "running" | "waiting";
        };
        /**
         * StepStanding
         * @description How a step stands.
         */
        StepStanding: {
            runs: number;
            status: string;
        };
        /**
         * StoredMeta
         * @description What is known of a payload without reading it.
         */
        StoredMeta: {
            bytes?: number;
            content_type?: string;
            preview?: string;
            schema_hint?: Obj;
            sha256?: string;
            ttl?: string;
        };
        /**
         * StoredRef
         * @description A reference to a payload of the result store.
         */
        StoredRef: {
            auth_reference?: string | null;
            locator: components["schemas"]["Locator"];
            meta?: components["schemas"]["StoredMeta"];
            type: string;
        };
        /**
         * StuckAnswer
         * @description Why nobody goes on with an execution until it is released.
         */
        StuckAnswer: {
            engine: string;
            message: string;
            /** @enum {string} */
            reason: "decision" | "log" | "mail" | "owners";
            server: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            since: string;
        };
        /**
         * SummaryView
         * @description What lists show of an execution; times in milliseconds.
         */
        SummaryView: {
            /** @default null */
            chain?: string | null;
            /** @default null */
            continued_as?: string | null;
            /** @default null */
            continued_from?: string | null;
            /** @default null */
            due_at?: number | null;
            /** @default null */
            ended_at?: number | null;
            execution_id: string;
            /** @default null */
            expected_ms?: number | null;
            /** @default 2 */
            format?: number;
            /** @default  */
            hash?: string;
            /** @default null */
            idempotency_key?: string | null;
            /** @default {} */
            labels?: {
                [key: string]: string;
            };
            /** @default null */
            late_at?: number | null;
            /** @default null */
            parent?: string | null;
            path: string;
            /** @default null */
            request?: string | null;
            /** @default 0 */
            requested_at?: number;
            /** @default null */
            requested_by?: string | null;
            /** @default null */
            result?: string | null;
            /** @default null */
            retry_of?: string | null;
            /** @default null */
            started_at?: number | null;
            status: string;
            /** @default null */
            stuck?: string | null;
            /** @default null */
            version?: number | null;
        };
        /**
         * TaskBar
         * @description A task, a wait or a delay on the time axis, in milliseconds since the start.
         */
        TaskBar: {
            address: string;
            attempt: number;
            do: string | null;
            ended: number | null;
            started: number;
            status: string;
            task: string;
            visit: number;
            /** @enum {string} */
            what: "child" | "delay" | "task" | "wait";
        };
        /**
         * TickItem
         * @description A tick, and what became of it.
         */
        TickItem: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            execution: string | null;
            failed_iterations: number;
            /** @enum {unknown} */
            status: "cancelled" | "completed" | "failed" | "paused" | "planned" | "queued" | "refused" | "replaced" | "running" | "skipped" | "starting" | "stuck" | "waiting";
            /** @description ISO 8601 in UTC, with milliseconds */
            tick: string;
            why: string | null;
        };
        /**
         * TickPage
         * @description Ticks, the newest first, and where the next page begins.
         */
        TickPage: {
            cursor: string | null;
            items: components["schemas"]["TickItem"][];
        };
        /**
         * TimelineAnswer
         * @description Runs, tasks, attempts and waits on a time axis, and the critical path.
         */
        TimelineAnswer: {
            critical: string[];
            ended: boolean;
            /** @description ISO 8601 in UTC, with milliseconds */
            from: string;
            left_out: number;
            runs: components["schemas"]["RunLine"][];
            /** @description ISO 8601 in UTC, with milliseconds */
            to: string;
        };
        /**
         * TokenBody
         * @description A token that is wanted.
         */
        TokenBody: {
            /** @default null */
            expires_ms?: number | null;
            name: string;
            /** @default [] */
            pools?: string[];
            /** @default [] */
            prefixes?: string[];
            scopes: ("admin" | "read" | "run" | "worker" | "write")[];
        };
        /**
         * TokenItem
         * @description A token as lists show it, never itself.
         */
        TokenItem: {
            by: string;
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            expires_at: string | null;
            id: string;
            name: string;
            pools: string[];
            prefixes: string[];
            scopes: string[];
        };
        /**
         * TokenList
         * @description Every token.
         */
        TokenList: {
            cursor: string | null;
            items: components["schemas"]["TokenItem"][];
        };
        /**
         * TokenProgress
         * @description A token and where it is.
         */
        TokenProgress: {
            from: string | null;
            held: boolean;
            hold: components["schemas"]["Hold"] | null;
            id: string;
            step: string;
        };
        /**
         * TokenStanding
         * @description A token of a state; why it is held, if it is.
         */
        TokenStanding: {
            from: string | null;
            held: boolean;
            id: string;
            reason?: string;
            step: string;
        };
        /**
         * ToolList
         * @description The installed tool kinds.
         */
        ToolList: {
            cursor: string | null;
            items: Obj[];
        };
        /**
         * TriggerBatch
         * @description How much starts together: so many, or what arrived within a while of the first.
         */
        TriggerBatch: {
            max: number;
            within: string;
        };
        /**
         * TriggerBody
         * @description A trigger that is wanted.
         */
        TriggerBody: {
            /** @default [] */
            after?: string[];
            /** @default payload */
            as?: string;
            /** @default null */
            auth?: string | null;
            /** @default null */
            batch?: components["schemas"]["TriggerBatch"] | null;
            /** @default false */
            children?: boolean;
            /** @default null */
            debounce?: string | null;
            /** @default true */
            enabled?: boolean;
            /** @default 30s */
            every?: string;
            /** @default false */
            existing?: boolean;
            /** @default null */
            filter?: string | null;
            /** @enum {unknown} */
            kind: "nats" | "object" | "playbook" | "webhook";
            /**
             * @default any
             * @enum {unknown}
             */
            match?: "all" | "any";
            name: string;
            on?: ("completed" | "failed")[];
            path: string;
            /** @default null */
            queue?: string | null;
            /** @default null */
            secret?: string | null;
            /** @default null */
            source?: string | null;
            /** @default null */
            subject?: string | null;
            /** @default null */
            version?: number | null;
            /** @default {} */
            workload?: Obj;
        };
        /**
         * TriggerChange
         * @description What a trigger starts, and by what: a webhook, a subject of NATS, ends of playbooks, or objects.
         */
        TriggerChange: {
            /** @default [] */
            after?: string[];
            /** @default payload */
            as?: string;
            /** @default null */
            auth?: string | null;
            /** @default null */
            batch?: components["schemas"]["TriggerBatch"] | null;
            /** @default false */
            children?: boolean;
            /** @default null */
            debounce?: string | null;
            /** @default true */
            enabled?: boolean;
            /** @default 30s */
            every?: string;
            /** @default false */
            existing?: boolean;
            /** @default null */
            filter?: string | null;
            /** @enum {unknown} */
            kind: "nats" | "object" | "playbook" | "webhook";
            /**
             * @default any
             * @enum {unknown}
             */
            match?: "all" | "any";
            on?: ("completed" | "failed")[];
            path: string;
            /** @default null */
            queue?: string | null;
            /** @default null */
            secret?: string | null;
            /** @default null */
            source?: string | null;
            /** @default null */
            subject?: string | null;
            /** @default null */
            version?: number | null;
            /** @default {} */
            workload?: Obj;
        };
        /**
         * TriggerItem
         * @description A trigger, without the secret; `hook` is where a webhook is called.
         */
        TriggerItem: {
            after: string[];
            as: string;
            auth: string | null;
            batch: components["schemas"]["TriggerBatch"] | null;
            by: string;
            children: boolean;
            /** @description ISO 8601 in UTC, with milliseconds */
            created_at: string;
            debounce: string | null;
            enabled: boolean;
            every: string;
            existing: boolean;
            filter: string | null;
            hook: string | null;
            /** @enum {unknown} */
            kind: "nats" | "object" | "playbook" | "webhook";
            last_at: string | null;
            last_error: string | null;
            last_execution: string | null;
            /** @enum {unknown} */
            match: "all" | "any";
            name: string;
            on: ("completed" | "failed")[];
            path: string;
            pending: number;
            queue: string | null;
            source: string | null;
            subject: string | null;
            version: number | null;
            workload: Obj;
        };
        /**
         * TriggerPage
         * @description Triggers by name, and where the next page begins.
         */
        TriggerPage: {
            cursor: string | null;
            items: components["schemas"]["TriggerItem"][];
        };
        /**
         * Turn
         * @description A change of an execution's status; who asked for it, and why.
         */
        Turn: {
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            by?: string;
            seq: number;
            status: string;
            why?: string;
        };
        /**
         * Uses
         * @description Which registered playbooks name which credential.
         */
        Uses: {
            items: {
                [key: string]: string[];
            };
        };
        /**
         * ValidateBody
         * @description A text to check.
         */
        ValidateBody: {
            playbook: string;
            /** @default false */
            strict?: boolean;
        };
        /**
         * Wait
         * @description A task that waits: for a signal, an answer, a child or a time.
         */
        Wait: {
            address: string;
            approval: string | null;
            child: string | null;
            expires: string | null;
            path: string | null;
            run: string;
            schema?: Json;
            signal: string | null;
            /** @description ISO 8601 in UTC, with milliseconds */
            since: string;
            step: string;
            task: string;
            until: string | null;
        };
        /**
         * WaitFields
         * @description What a parked task waits for, and when its own time is up.
         */
        WaitFields: {
            approval?: string;
            child?: string;
            expires?: string;
            signal?: string;
            until?: string;
        };
        /**
         * Waiting
         * @description A task that waits, and for what.
         */
        Waiting: {
            address: string;
            for: components["schemas"]["WaitFields"];
            task: string;
        };
        /**
         * WaitsAnswer
         * @description What waits for somebody, the oldest first.
         */
        WaitsAnswer: {
            items: components["schemas"]["AskedWait"][];
        };
        /**
         * WhyAnswer
         * @description The decisions of an execution, or of one step of it, in words.
         */
        WhyAnswer: {
            execution_id: string;
            reasons: components["schemas"]["Reason"][];
            status: string;
            step: string | null;
            summary: string;
        };
        /**
         * WishBody
         * @description Why it is asked for.
         */
        WishBody: {
            /** @default null */
            why?: string | null;
        };
        /**
         * WorkerItem
         * @description A worker that was heard of.
         */
        WorkerItem: {
            concurrency: number;
            draining: boolean;
            finished: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            heard_at: string;
            host: string;
            kinds: string[];
            leases: components["schemas"]["LeaseItem"][];
            pool: string;
            protocol: number;
            running: number;
            /** @description ISO 8601 in UTC, with milliseconds */
            started_at: string;
            version: string;
            worker_id: string;
        };
        /**
         * WorkerList
         * @description The workers that were heard of lately.
         */
        WorkerList: {
            cursor: string | null;
            items: components["schemas"]["WorkerItem"][];
        };
        /**
         * Writer
         * @description The event that wrote a value.
         */
        Writer: {
            address: string | null;
            /** @description ISO 8601 in UTC, with milliseconds */
            at: string;
            origin: string | null;
            run: string | null;
            seq: number;
        };
        /**
         * You
         * @description Who asks, and what they may do.
         */
        You: {
            name: string;
            prefixes: string[];
            scopes: string[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    register_api_catalog_register_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyRegisterBody"];
            };
        };
        responses: {
            /** @description One version of a registered playbook, without its text. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogEntry"];
                };
            };
        };
    };
    credential_api_credentials_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyCredentialBody"];
            };
        };
        responses: {
            /** @description A credential with the names of its fields; no answer has a value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialAnswer"];
                };
            };
        };
    };
    execute_api_execute_post: {
        parameters: {
            query?: never;
            header?: {
                /** @description Under one key at most one execution is started; a repeat answers 200 with that one */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LegacyExecuteBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    show_execution_api_executions__execution_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How an execution stands, with the status as clients of the original wait for it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LegacyExecutionAnswer"];
                };
            };
        };
    };
    about_api_v1_about_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What a server is. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AboutAnswer"];
                };
            };
        };
    };
    list_backfills_api_v1_backfills_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Backfills, the newest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillPage"];
                };
            };
        };
    };
    add_backfill_api_v1_backfills_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BackfillBody"];
            };
        };
        responses: {
            /** @description A backfill; of a dry run its ticks, and the executions that some of the first have already. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillAnswer"];
                };
            };
        };
    };
    show_backfill_api_v1_backfills__backfill_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a backfill */
                backfill_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A backfill, and how many of its ticks stand how. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillItem"];
                };
            };
        };
    };
    cancel_backfill_api_v1_backfills__backfill_id__cancel_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a backfill */
                backfill_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A backfill, and how many of its ticks stand how. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillItem"];
                };
            };
        };
    };
    pause_backfill_api_v1_backfills__backfill_id__pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a backfill */
                backfill_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A backfill, and how many of its ticks stand how. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillItem"];
                };
            };
        };
    };
    resume_backfill_api_v1_backfills__backfill_id__resume_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a backfill */
                backfill_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A backfill, and how many of its ticks stand how. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BackfillItem"];
                };
            };
        };
    };
    list_backfill_ticks_api_v1_backfills__backfill_id__ticks_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of a backfill */
                backfill_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ticks, the newest first, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TickPage"];
                };
            };
        };
    };
    list_playbooks_api_v1_catalog_get: {
        parameters: {
            query?: {
                /** @description Every version of this path */
                path?: string | null;
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the catalog, and where the next one begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogPage"];
                };
            };
        };
    };
    register_api_v1_catalog_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RegisterBody"];
            };
        };
        responses: {
            /** @description One version of a registered playbook, without its text. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogEntry"];
                };
            };
        };
    };
    show_playbook_api_v1_catalog__path__get: {
        parameters: {
            query?: {
                /** @description A version, else the newest */
                version?: number | null;
            };
            header?: never;
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One version of a registered playbook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogText"];
                };
            };
        };
    };
    delete_playbook_api_v1_catalog__path__delete: {
        parameters: {
            query?: {
                /** @description A version, else the newest */
                version?: number | null;
            };
            header?: never;
            path: {
                path: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many versions were taken off the catalog. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    list_credentials_api_v1_credentials_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every credential by name. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialList"];
                };
            };
        };
    };
    rotate_api_v1_credentials_rotate_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many credentials were sealed again. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sealed"];
                };
            };
        };
    };
    show_api_v1_credentials__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a credential */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A credential with the names of its fields; no answer has a value. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CredentialAnswer"];
                };
            };
        };
    };
    put_api_v1_credentials__name__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a credential */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": Obj;
            };
        };
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    delete_api_v1_credentials__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a credential */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_deliveries_api_v1_deliveries_get: {
        parameters: {
            query?: {
                notification?: string | null;
                execution_id?: string | null;
                state?: ("pending" | "delivered" | "failed") | null;
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Deliveries, the newest first, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
        };
    };
    show_delivery_api_v1_deliveries__number__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number of a delivery */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What somebody is told: `key` is the same however often it is sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryItem"];
                };
            };
        };
    };
    redeliver_api_v1_deliveries__number__redeliver_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The number of a delivery */
                number: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What somebody is told: `key` is the same however often it is sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryItem"];
                };
            };
        };
    };
    list_executions_api_v1_executions_get: {
        parameters: {
            query?: {
                status?: string | null;
                /** @description Of one playbook */
                path?: string | null;
                /** @description The beginning of ids */
                prefix?: string;
                /** @description A part of an id or a path */
                text?: string | null;
                /** @description Requested at or after */
                since?: string | null;
                /** @description Requested before */
                until?: string | null;
                parent?: string | null;
                /** @description Who asked for them; @me: who asks now */
                by?: string | null;
                /** @description Of playbooks that have this label: `team`, or `team=pricing` */
                label?: string | null;
                /** @description Whether children of others are listed too */
                children?: boolean;
                /** @description Whether those that went on as another are listed too, not the last alone */
                continued?: boolean;
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of executions, the newest first, and where the next one begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionPage"];
                };
            };
        };
    };
    start_api_v1_executions_post: {
        parameters: {
            query?: {
                /** @description Answer when it is over or paused, after so many seconds at the latest */
                wait?: number;
            };
            header?: {
                /** @description Under one key at most one execution is started; a repeat answers 200 with that one */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    show_api_v1_executions__execution_id__get: {
        parameters: {
            query?: {
                /** @description Answer when it is over or paused, after so many seconds at the latest */
                wait?: number;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How an execution stands. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExecutionAnswer"];
                };
            };
        };
    };
    cancel_api_v1_executions__execution_id__cancel_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WishBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    data_api_v1_executions__execution_id__data_get: {
        parameters: {
            query?: {
                /** @description After this event, else the newest */
                at?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description ctx and workload with the event that wrote each key, and the outputs of runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DataAnswer"];
                };
            };
        };
    };
    diff_api_v1_executions__execution_id__diff__other_id__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
                /** @description The id of an execution */
                other_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How two executions differ; a pair is there only where they do, and what goes beyond is counted. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiffAnswer"];
                };
            };
        };
    };
    events_api_v1_executions__execution_id__events_get: {
        parameters: {
            query?: {
                from?: number;
                limit?: number;
                /** @description A pattern such as task.* */
                name?: string | null;
                step?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events in order, and the number at which the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventPage"];
                };
            };
        };
    };
    found_api_v1_executions__execution_id__found_get: {
        parameters: {
            query?: {
                name?: string | null;
                step?: string | null;
                task?: string | null;
                iteration?: string | null;
                text?: string | null;
                offset?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the events that match, and how many match in all. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FoundAnswer"];
                };
            };
        };
    };
    graph_api_v1_executions__execution_id__graph_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A playbook as steps and arcs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GraphAnswer"];
                };
            };
        };
    };
    log_api_v1_executions__execution_id__log_get: {
        parameters: {
            query?: {
                from?: number;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rows in order, and the event at which the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LogPage"];
                };
            };
        };
    };
    logs_api_v1_executions__execution_id__logs_get: {
        parameters: {
            query?: {
                /** @description Behind this place: `next` of a page */
                after?: string;
                limit?: number;
                step?: string | null;
                task?: string | null;
                /** @description This level or a worse one; none counts as info */
                level?: string | null;
                /** @description Only lines that have this in them, in any case */
                text?: string;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Some lines in order; `next` is where reading goes on, `more` whether there is something now. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LinesPage"];
                };
            };
        };
    };
    log_stream_api_v1_executions__execution_id__logs_stream_get: {
        parameters: {
            query?: {
                /** @description Behind this place: `next` of a page */
                after?: string;
                step?: string | null;
                task?: string | null;
                /** @description This level or a worse one; none counts as info */
                level?: string | null;
                /** @description Only lines that have this in them, in any case */
                text?: string;
                /** @description Also of executions that it started, and these */
                children?: boolean;
                /** @description Until it is over; else what there is now */
                live?: boolean;
            };
            header?: {
                /** @description The id of the last lines that were seen; the stream goes on behind them */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        data: string;
                        event?: string;
                        id?: string;
                    };
                };
            };
        };
    };
    loops_api_v1_executions__execution_id__loops_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The runs that are loops. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoopRuns"];
                };
            };
        };
    };
    loop_api_v1_executions__execution_id__loops__run__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every iteration of a loop: a mark for its state, its start and its duration, -1 where there is none. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoopAnswer"];
                };
            };
        };
    };
    iteration_api_v1_executions__execution_id__loops__run___index__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
                run: string;
                index: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One iteration of a loop: its item, what it put out or why it failed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IterationAnswer"];
                };
            };
        };
    };
    page_api_v1_executions__execution_id__page_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What an execution's page opens with. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PageAnswer"];
                };
            };
        };
    };
    pause_api_v1_executions__execution_id__pause_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WishBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    playbook_api_v1_executions__execution_id__playbook_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One version of a registered playbook. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CatalogText"];
                };
            };
        };
    };
    progress_api_v1_executions__execution_id__progress_get: {
        parameters: {
            query?: {
                /** @description After this event, else the newest */
                at?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The graph's colours: steps with their runs, arcs with what they saw, tokens, what waits. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProgressAnswer"];
                };
            };
        };
    };
    projection_api_v1_executions__execution_id__projection_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What stands beside a log as its last commit left it: `replay` holds the log against it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionView"];
                };
            };
        };
    };
    pulse_api_v1_executions__execution_id__pulse_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        data: string;
                        event?: string;
                        id?: string;
                    };
                };
            };
        };
    };
    release_api_v1_executions__execution_id__release_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An execution that was asked for. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    render_api_v1_executions__execution_id__render_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RenderBody"];
            };
        };
        responses: {
            /** @description What a template evaluates to. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rendered"];
                };
            };
        };
    };
    rerun_api_v1_executions__execution_id__rerun_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RerunBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    resume_api_v1_executions__execution_id__resume_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WishBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    retry_api_v1_executions__execution_id__retry_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["RetryBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    signal_api_v1_executions__execution_id__signal_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SignalBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    state_api_v1_executions__execution_id__state_get: {
        parameters: {
            query?: {
                /** @description After this event, else the newest */
                at?: number | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The state of an execution after an event. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
        };
    };
    stream_api_v1_executions__execution_id__stream_get: {
        parameters: {
            query?: {
                /** @description The number of the first event wanted */
                from?: number;
            };
            header?: {
                /** @description The number of the last event that was seen; the stream goes on behind it */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": {
                        data: string;
                        event?: string;
                        id?: string;
                    };
                };
            };
        };
    };
    timeline_api_v1_executions__execution_id__timeline_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Runs, tasks, attempts and waits on a time axis, and the critical path. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TimelineAnswer"];
                };
            };
        };
    };
    why_api_v1_executions__execution_id__why_get: {
        parameters: {
            query?: {
                step?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The decisions of an execution, or of one step of it, in words. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhyAnswer"];
                };
            };
        };
    };
    graph_api_v1_graph_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ValidateBody"];
            };
        };
        responses: {
            /** @description A text's graph as far as it can be read, its findings, and the workload it declares. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SketchAnswer"];
                };
            };
        };
    };
    call_hook_api_v1_hooks__name__post: {
        parameters: {
            query?: never;
            header?: {
                /** @description Under one key at most one execution is started; a repeat answers 200 with that one */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description The name of a webhook */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": unknown;
            };
        };
        responses: {
            /** @description What a call of a webhook started; nothing yet when it was collected, nothing at all when filtered. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Called"];
                };
            };
        };
    };
    list_notifications_api_v1_notifications_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Notifications by name, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationPage"];
                };
            };
        };
    };
    add_notification_api_v1_notifications_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationBody"];
            };
        };
        responses: {
            /** @description A notification; its secrets are in the credential that `auth` names. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
        };
    };
    show_notification_api_v1_notifications__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a notification */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A notification; its secrets are in the credential that `auth` names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
        };
    };
    put_notification_api_v1_notifications__name__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a notification */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NotificationChange"];
            };
        };
        responses: {
            /** @description A notification; its secrets are in the credential that `auth` names. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NotificationItem"];
                };
            };
        };
    };
    delete_notification_api_v1_notifications__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a notification */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    send_sample_api_v1_notifications__name__test_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a notification */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What somebody is told: `key` is the same however often it is sent. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryItem"];
                };
            };
        };
    };
    overview_api_v1_overview_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The last day: executions by status and hour, failures, what is under way, the slowest steps. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewAnswer"];
                };
            };
        };
    };
    recent_api_v1_recent_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The newest executions of each playbook, among the newest of all. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecentAnswer"];
                };
            };
        };
    };
    result_api_v1_results__execution_id___digest__get: {
        parameters: {
            query?: {
                /** @description The first item of a list */
                offset?: number;
                /** @description How many items of a list */
                limit?: number | null;
                /** @description A path into the value */
                select?: string | null;
            };
            header?: never;
            path: {
                /** @description The id of an execution */
                execution_id: string;
                /** @description The digest of the payload */
                digest: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A stored payload, or a part of it. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResultSlice"];
                };
            };
        };
    };
    list_schedules_api_v1_schedules_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Schedules by name, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SchedulePage"];
                };
            };
        };
    };
    add_schedule_api_v1_schedules_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleBody"];
            };
        };
        responses: {
            /** @description A schedule with its next and its last tick. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
                };
            };
        };
    };
    show_schedule_api_v1_schedules__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A schedule with its next and its last tick. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
                };
            };
        };
    };
    put_schedule_api_v1_schedules__name__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ScheduleChange"];
            };
        };
        responses: {
            /** @description A schedule with its next and its last tick. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ScheduleItem"];
                };
            };
        };
    };
    delete_schedule_api_v1_schedules__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    run_schedule_api_v1_schedules__name__run_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    list_ticks_api_v1_schedules__name__ticks_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ticks, the newest first, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TickPage"];
                };
            };
        };
    };
    schema_api_v1_schema_get: {
        parameters: {
            query?: {
                /** @description Of one tool kind */
                kind?: string | null;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Obj;
                };
            };
        };
    };
    show_session_api_v1_session_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Who one is, and what changes of a session carry in the header X-CSRF-Token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
        };
    };
    log_in_api_v1_session_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SessionBody"];
            };
        };
        responses: {
            /** @description Who one is, and what changes of a session carry in the header X-CSRF-Token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionAnswer"];
                };
            };
        };
    };
    log_out_api_v1_session_delete: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    leave_api_v1_session_login_get: {
        parameters: {
            query?: {
                place?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    come_back_api_v1_session_login_done_get: {
        parameters: {
            query?: {
                code?: string;
                state?: string;
                error?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: never;
    };
    ways_api_v1_session_ways_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How somebody can log in to the web page: with a token, and at which OpenID provider, if any. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoginWays"];
                };
            };
        };
    };
    list_coming_ticks_api_v1_ticks_get: {
        parameters: {
            query?: {
                cron?: string | null;
                timezone?: string;
                every_s?: number | null;
                /** @description Which gets these times; without any, its own */
                schedule?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ticks to come, the next one first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComingPage"];
                };
            };
        };
    };
    list_tokens_api_v1_tokens_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every token. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenList"];
                };
            };
        };
    };
    create_api_v1_tokens_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TokenBody"];
            };
        };
        responses: {
            /** @description A token, shown this once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTokenAnswer"];
                };
            };
        };
    };
    delete_api_v1_tokens__token_id__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The id of a token */
                token_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    tools_api_v1_tools_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The installed tool kinds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolList"];
                };
            };
        };
    };
    list_triggers_api_v1_triggers_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Triggers by name, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerPage"];
                };
            };
        };
    };
    add_trigger_api_v1_triggers_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriggerBody"];
            };
        };
        responses: {
            /** @description A trigger, and its secret if that was made or given: shown this once. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTriggerAnswer"];
                };
            };
        };
    };
    show_trigger_api_v1_triggers__name__get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A trigger, without the secret; `hook` is where a webhook is called. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TriggerItem"];
                };
            };
        };
    };
    put_trigger_api_v1_triggers__name__put: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TriggerChange"];
            };
        };
        responses: {
            /** @description A trigger, and its secret if that was made or given: shown this once. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewTriggerAnswer"];
                };
            };
        };
    };
    delete_trigger_api_v1_triggers__name__delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    list_arrivals_api_v1_triggers__name__arrivals_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What arrived, the newest first, and where the next page begins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArrivalPage"];
                };
            };
        };
    };
    run_trigger_api_v1_triggers__name__run_post: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The name of a schedule or trigger */
                name: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FireBody"];
            };
        };
        responses: {
            /** @description An execution that was asked for. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Begun"];
                };
            };
        };
    };
    uses_api_v1_uses_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Which registered playbooks name which credential. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Uses"];
                };
            };
        };
    };
    validate_api_v1_validate_post: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ValidateBody"];
            };
        };
        responses: {
            /** @description What was found in a text. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Findings"];
                };
            };
        };
    };
    waits_api_v1_waits_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What waits for somebody, the oldest first. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WaitsAnswer"];
                };
            };
        };
    };
    workers_api_v1_workers_get: {
        parameters: {
            query?: {
                /** @description Where the page before ended */
                cursor?: string | null;
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The workers that were heard of lately. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkerList"];
                };
            };
        };
    };
    live_health_live_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the server can do its work. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    ready_health_ready_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Whether the server can do its work. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    metrics_metrics_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The text */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
}
