//! `apportion experiment` from outside: run, kill, resume, report, and the report in a browser.
//!
//! A shell script stands in for the planner, so that what is tested is the experiment, in seconds.

mod browser;
#[path = "../common/browser.rs"]
mod chromium;
mod committed;
mod failures;
mod fixture;
mod report;
mod resume;
mod small;
