//! Requests and changes in traces.
