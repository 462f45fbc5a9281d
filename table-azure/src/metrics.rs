//! Metrics of requests, for the recorder of the crate `metrics` that the program has installed.

use std::time::Duration;

use metrics::{Unit, counter, describe_counter, describe_histogram, histogram};

const REQUESTS: &str = "azure_tables_requests_total";
const RETRIES: &str = "azure_tables_retries_total";
const THROTTLED: &str = "azure_tables_throttled_total";
const SENT: &str = "azure_tables_sent_bytes_total";
const RECEIVED: &str = "azure_tables_received_bytes_total";
const DURATION: &str = "azure_tables_request_duration_seconds";

/// One attempt to send a request.
pub(super) struct Attempt {
    pub(super) operation: &'static str,
    /// The status of the answer; `None` if there was no answer.
    pub(super) status: Option<u16>,
    /// Number of the attempt, counted from 1.
    pub(super) number: usize,
    /// True if the answer shows an overload of the service.
    pub(super) is_throttled: bool,
    /// Bytes of the request's body.
    pub(super) sent: usize,
    /// Bytes of a successful answer's body.
    pub(super) received: usize,
    pub(super) duration: Duration,
}

impl Attempt {
    /// Records the attempt.
    pub(super) fn record(&self) {
        let operation = self.operation;
        let status = self.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
        counter!(REQUESTS, "operation" => operation, "status" => status).increment(1);
        counter!(SENT, "operation" => operation).increment(self.sent as u64);
        counter!(RECEIVED, "operation" => operation).increment(self.received as u64);
        histogram!(DURATION, "operation" => operation).record(self.duration);
        if self.number > 1 {
            counter!(RETRIES, "operation" => operation).increment(1);
        }
        if self.is_throttled {
            counter!(THROTTLED, "operation" => operation).increment(1);
        }
    }
}

/// Describes the metrics to the recorder.
pub(super) fn describe() {
    describe_counter!(REQUESTS, Unit::Count, "Attempts to send a request, by operation and status of the answer");
    describe_counter!(RETRIES, Unit::Count, "Attempts after the first one of a request");
    describe_counter!(THROTTLED, Unit::Count, "Answers that showed an overload of the service");
    describe_counter!(SENT, Unit::Bytes, "Bytes of the bodies of requests");
    describe_counter!(RECEIVED, Unit::Bytes, "Bytes of the bodies of successful answers");
    describe_histogram!(DURATION, Unit::Seconds, "Duration of an attempt");
}
