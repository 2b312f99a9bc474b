//! Serves one page over HTTP. Clients are not trusted: each takes one of a few connections, for a few
//! seconds and a few kilobytes. The capture never waits for a client.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::host::{HostName, HostNames, Meant};

/// Limit: clients that read `--metrics` at a time | {} | others wait in the kernel's queue
const PLACES: usize = 4;

/// Limit: a request for `--metrics`, with its headers | {:bytes}, {HEADERS} headers, {TIME:time} | it is refused (431),
/// or its connection is closed; capture continues
const REQUEST: usize = 8 << 10;

/// Maximum number of headers.
const HEADERS: usize = 64;

/// Maximum time from the connection to the last byte of the response.
const TIME: Duration = Duration::from_secs(5);

/// Milliseconds between two looks whether to end.
const LOOK: u16 = 200;

/// The path of the page.
pub(crate) const PATH: &str = "/metrics";

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The current page.
#[derive(Clone, Default)]
pub(super) struct HttpPage(Arc<Mutex<Arc<str>>>);

impl HttpPage {
    pub(super) fn publish(&self, text: String) {
        *self.lock() = text.into();
    }

    fn text(&self) -> Arc<str> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Arc<str>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A listening socket that is not yet served, and the other names of this host.
pub(crate) struct ListenAddress(TcpListener, HostNames);

impl ListenAddress {
    /// Listens at this address, for requests to it, to localhost, or to one of these names.
    ///
    /// # Errors
    /// The address is not one of this host or is in use, or the user has no permission.
    pub(crate) fn bind(address: SocketAddr, names: &[HostName]) -> io::Result<ListenAddress> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(ListenAddress(listener, HostNames(names.to_vec())))
    }

    /// The address that it listens at.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.0.local_addr().ok()
    }

    /// Serves the page until the server is dropped.
    pub(super) fn serve(self, page: &HttpPage) -> MetricsServer {
        self.serve_within(page, TIME)
    }

    fn serve_within(self, page: &HttpPage, time: Duration) -> MetricsServer {
        let (listener, stop) = (Arc::new(self), Arc::new(AtomicBool::new(false)));
        let threads = (0..PLACES).map(|_| {
            let (listener, page, stop) = (Arc::clone(&listener), page.clone(), Arc::clone(&stop));
            std::thread::spawn(move || serve(&listener, &page, &stop, time))
        });
        MetricsServer { threads: threads.collect(), stop }
    }
}

/// The serving threads, which end when it is dropped.
pub(super) struct MetricsServer {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        // The threads are not joined: a client may keep one busy for a few seconds.
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).filter(JoinHandle::is_finished).for_each(|it| {
            it.join().ok();
        });
    }
}

fn serve(listen: &ListenAddress, page: &HttpPage, stop: &AtomicBool, time: Duration) {
    let ListenAddress(listener, names) = listen;
    while !stop.load(Ordering::Relaxed) {
        let mut ready = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        poll(&mut ready, PollTimeout::from(LOOK)).ok();
        match listener.accept() {
            // Errors of one client are ignored.
            Ok((stream, _)) => drop(respond(stream, names, page, Instant::now() + time)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // For example, there is no free descriptor: the connection stays in the queue.
            Err(_) => std::thread::sleep(Duration::from_millis(LOOK.into())),
        }
    }
}

/// Reads a request and responds to it.
fn respond(
    mut stream: TcpStream,
    names: &HostNames,
    page: &HttpPage,
    until: Instant,
) -> io::Result<()> {
    // On some systems, connections inherit the listener's non-blocking mode.
    stream.set_nonblocking(false)?;
    let status = read(&mut stream, names, until)?;
    let text = match status {
        Status::Ok => page.text(),
        Status::Misdirected => format!("{}: {NAMES}\n", status.line()).into(),
        other => format!("{}\n", other.line()).into(),
    };
    let (allow, kind) = match status {
        Status::Ok => ("", CONTENT_TYPE),
        Status::MethodNotAllowed => ("Allow: GET\r\n", "text/plain"),
        _ => ("", "text/plain"),
    };
    let head = format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        status.line(),
        text.len()
    );
    write(&mut stream, head.as_bytes(), until)?;
    write(&mut stream, text.as_bytes(), until)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    // Closing a socket with unread input would reset the connection, and lose the response.
    let mut rest = [0; 1024];
    for _ in 0..REQUEST / rest.len() {
        stream.set_read_timeout(Some(left(until)?))?;
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

/// The status of a response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    BadRequest,
    NotFound,
    MethodNotAllowed,
    Misdirected,
    TooLarge,
}

/// How to ask by another name.
const NAMES: &str = "ask for the address that gamewire listens at, or for localhost; \
                     gamewire --metrics-host NAME allows other names of this host";

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Ok => "200 OK",
            Status::BadRequest => "400 Bad Request",
            Status::NotFound => "404 Not Found",
            Status::MethodNotAllowed => "405 Method Not Allowed",
            Status::Misdirected => "421 Misdirected Request",
            Status::TooLarge => "431 Request Header Fields Too Large",
        }
    }

    /// `address`: the address of this host that it was sent to.
    fn of(request: &httparse::Request<'_, '_>, names: &HostNames, address: IpAddr) -> Status {
        let headers = request.headers.iter();
        let hosts = headers.filter(|it| it.name.eq_ignore_ascii_case("host")).map(|it| it.value);
        match names.meant(hosts, request.version != Some(0), address) {
            Meant::Here => {}
            Meant::Elsewhere => return Status::Misdirected,
            Meant::Invalid => return Status::BadRequest,
        }
        match (request.method, request.path) {
            (_, Some(path)) if path.split('?').next() != Some(PATH) => Status::NotFound,
            (Some("GET"), _) => Status::Ok,
            _ => Status::MethodNotAllowed,
        }
    }
}

/// Reads a request to the end of its headers: a GET has nothing after them.
fn read(stream: &mut TcpStream, names: &HostNames, until: Instant) -> io::Result<Status> {
    let address = stream.local_addr()?.ip();
    let (mut bytes, mut length) = ([0; REQUEST], 0);
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        let read = stream.read(bytes.get_mut(length..).unwrap_or_default())?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        length += read;
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes.get(..length).unwrap_or_default()) {
            Ok(httparse::Status::Complete(_)) => {
                return Ok(Status::of(&request, names, address));
            }
            Ok(httparse::Status::Partial) if length == REQUEST => return Ok(Status::TooLarge),
            Ok(httparse::Status::Partial) => {}
            Err(httparse::Error::TooManyHeaders) => return Ok(Status::TooLarge),
            Err(_) => return Ok(Status::BadRequest),
        }
    }
}

fn write(stream: &mut TcpStream, mut bytes: &[u8], until: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(until)?))?;
        let written = stream.write(bytes)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

/// The remaining time, or an error if there is none.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(time: Duration) -> (SocketAddr, HttpPage, MetricsServer) {
        let endpoint =
            ListenAddress::bind(([127, 0, 0, 1], 0).into(), &["game.example".parse().unwrap()])
                .unwrap();
        let address = endpoint.address().unwrap();
        let page = HttpPage::default();
        page.publish("gamewire_packets_total 1\n".to_owned());
        let server = endpoint.serve_within(&page, time);
        (address, page, server)
    }

    fn ask(address: SocketAddr, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    #[test]
    fn only_the_page_is_served_and_only_to_get() {
        let (address, page, _server) = start(TIME);
        let first = |request: &str| {
            let response = ask(address, request.as_bytes());
            response.lines().next().unwrap_or_default().to_owned()
        };
        let response = ask(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(response.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/openmetrics"));
        assert!(response.ends_with("\r\n\r\ngamewire_packets_total 1\n"), "{response}");
        page.publish("later\n".to_owned());
        assert!(ask(address, b"GET /metrics?a=b HTTP/1.0\r\n\r\n").ends_with("\nlater\n"));
        assert_eq!(first("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(
            first("GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            "HTTP/1.1 404 Not Found"
        );
        for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let request = format!(
                "{method} /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"
            );
            assert_eq!(first(&request), "HTTP/1.1 405 Method Not Allowed");
        }
        assert_eq!(first("\u{1}\u{2}\u{3}\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    }

    /// A web page whose name an attacker lets stand for this address.
    #[test]
    fn requests_by_other_names_get_no_metrics() {
        let (address, _page, _server) = start(TIME);
        let by =
            |hosts: &str| ask(address, format!("GET /metrics HTTP/1.1\r\n{hosts}\r\n").as_bytes());
        for host in [&*address.to_string(), "localhost:1", "127.0.0.1", "game.example:9642"] {
            let response = by(&format!("hOST: {host}\r\n"));
            assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{host}: {response}");
        }
        for host in ["evil.example:9642", "game.example.evil.example", "192.0.2.1"] {
            let response = by(&format!("Host: {host}\r\n"));
            assert!(response.starts_with("HTTP/1.1 421 Misdirected Request\r\n"), "{response}");
            assert!(response.contains("--metrics-host NAME"), "{response}");
            assert!(!response.contains("gamewire_") && !response.contains(host), "{response}");
        }
        for hosts in ["", "Host: localhost\r\nHost: evil.example\r\n", "Host: \r\n"] {
            let response = by(hosts);
            assert!(response.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{hosts}: {response}");
        }
    }

    #[test]
    fn the_size_of_a_request_is_limited() {
        let (address, _page, _server) = start(TIME);
        let many = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(HEADERS + 1));
        assert!(ask(address, many.as_bytes()).starts_with("HTTP/1.1 431 "));
        let long = format!("GET /metrics HTTP/1.1\r\nA: {}", "b".repeat(REQUEST));
        assert!(ask(address, long.as_bytes()).starts_with("HTTP/1.1 431 "));
    }

    #[test]
    fn slow_clients_are_disconnected() {
        let time = Duration::from_millis(500);
        let (address, _page, server) = start(time);
        assert_eq!(server.threads.len(), PLACES);
        // More clients than connections, each with half a request; one continues byte by byte.
        let slow: Vec<_> = (0..3 * PLACES)
            .map(|_| {
                let mut stream = TcpStream::connect(address).unwrap();
                stream.write_all(b"GET /metrics HTT").unwrap();
                stream
            })
            .collect();
        let mut drip = TcpStream::connect(address).unwrap();
        let dripping = std::thread::spawn(move || {
            let begun = Instant::now();
            while drip.write_all(b"A").is_ok() && begun.elapsed() < 40 * time {
                std::thread::sleep(time / 20);
            }
            begun.elapsed()
        });
        let response = ask(address, b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
        assert!(dripping.join().unwrap() < 40 * time, "it was cut off");
        drop(slow);
    }

    #[test]
    fn dropping_the_server_frees_the_socket() {
        let (address, _page, server) = start(TIME);
        drop(server);
        let until = Instant::now() + Duration::from_secs(20);
        while ListenAddress::bind(address, &[]).is_err() {
            assert!(Instant::now() < until, "still in use");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
