//! Whole-program tests: what gamewire does with captures. One program, so that it is linked once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../support/mod.rs"]
mod support;

mod abuse;
mod abuse_limits;
mod abuse_report;
mod action;
mod attacks;
mod baseline;
mod browser;
mod bulk;
mod catalogue;
mod causes;
mod check;
mod citations;
mod cli;
mod columns;
mod config;
mod conforming;
mod coverage;
mod diagnose;
mod diagnose_masters;
mod diagnose_parties;
mod docs;
mod exchanges;
mod exit_codes;
mod export;
mod extract;
mod fields;
mod filtered;
mod filters;
mod flows;
mod follow;
mod foreign_traffic;
mod hostile;
mod icmp;
mod injection;
mod layering;
mod layers;
mod length;
mod library;
mod limits;
mod manual;
mod network;
mod output_targets;
mod outputs;
mod parties;
mod partition;
mod record;
mod recorded;
mod report;
mod reproducible;
mod rules;
mod samples;
mod schemas;
mod scrub;
mod scrub_canaries;
mod serve;
mod streams;
mod summary;
mod threads;
mod traffic;
mod tshark;
mod vectors;
