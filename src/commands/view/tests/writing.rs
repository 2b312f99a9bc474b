//! Writing packets to a file.

use super::*;

#[test]
fn marked_or_filtered_conversations_are_written() {
    let folder = folder("written");
    let [marked, wanted] = ["marked", "wanted"].map(|name| folder.join(name).display().to_string());
    let mut user = TestUser::of("a2s-quirks.pcap");
    user.keys(&["Space", "Down", "Space", "w"]);
    assert!(user.screen(100, 30).contains("write 2 marked conversations to: gamewire.pcapng"));
    user.keys(&["Clear", &format!(":{marked}"), "Enter"]);
    assert!(user.screen(200, 30).contains("wrote 9 packets of 8 messages to"));
    let (_, out, _) = run(&["dissect", "--no-config", &marked]);
    let (_, original, _) =
        run(&["dissect", "--no-config", "--flow", "1,3", &sample("a2s-quirks.pcap")]);
    let said = |text: &str| {
        let lines = text.lines().map(|line| line.chars().skip(24).collect::<String>());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(said(&out), said(&original));
    let before = std::fs::read(&marked).unwrap();
    user.keys(&["w", "Clear", &format!(":{marked}"), "Enter"]);
    assert!(user.screen(200, 30).contains("it is there already; choose another name"));
    assert_eq!(std::fs::read(&marked).unwrap(), before);
    user.keys(&["u", "/", ":a2s.info_response", "Enter", "w", "Clear"]);
    user.keys(&[&format!(":{wanted}"), "Enter"]);
    let (_, out, _) = run(&["dissect", "--no-config", &wanted]);
    let lines = out.lines().skip(1);
    assert!(lines.clone().count() > 2 && lines.clone().all(|line| line.contains("info_response")));
    std::fs::remove_dir_all(folder).unwrap();
}

/// As in a live capture: files can be created in the folder of `-w`, and elsewhere an error
/// explains why not.
#[test]
#[allow(clippy::print_stderr, reason = "a test that skips itself says so")]
fn a_confined_view_writes_in_its_folder_alone() {
    let (inside, outside) = (folder("inside"), folder("outside"));
    // Packets of a pipe are kept, like those of an interface: nothing is read again.
    let pipe = outside.join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (bytes, to) = (std::fs::read(sample("a2s-quirks.pcap")).unwrap(), pipe.clone());
    let writer = std::thread::spawn(move || std::fs::write(to, bytes));
    let [here, there] = [&inside, &outside].map(|it| it.join("out").display().to_string());
    let mut user = TestUser::with(&[pipe.to_str().unwrap()]);
    writer.join().unwrap().unwrap();
    Arc::get_mut(&mut user.again.input).unwrap().live.interface = Some("eth0".to_owned());
    let task = user.task();
    let (folder, files) = (inside.clone(), [here.clone(), there]);
    // Only the thread that confines itself is confined.
    let written = std::thread::spawn(move || {
        let place = crate::live::outputs::OutputPlace::open(&folder).unwrap();
        let is_confined = crate::live::sandbox::confine(&[&place]).files;
        let all = crate::view::Chosen::Messages(None);
        is_confined.then(|| files.map(|file| task.write(&file, &all)))
    });
    match written.join().unwrap() {
        Some([Ok(TaskReply::Done(done)), Err(refused)]) => {
            assert!(done.starts_with("wrote 42 packets of 41 messages to "), "{done}");
            let why = "a live capture may only write in the folder of -w FILE";
            assert!(refused.to_string().contains(why), "{refused}");
            assert!(std::fs::metadata(here).unwrap().len() > 1000);
        }
        Some(_) => panic!("one is written, the other refused"),
        None => eprintln!("skipped: this system lacks Landlock"),
    }
    [inside, outside].into_iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}
