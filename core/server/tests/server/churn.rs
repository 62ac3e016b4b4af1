//! Many people, bad lines, a server that is killed: everybody ends with the same, every word is
//! there once, and what was confirmed before is there after.

use server::{Config, serve};

use crate::desk::{Desk, PAPER, address, copy_folder, secret, start};

/// A small generator (xorshift): the seed replays a failure.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound as u64).unwrap()
    }
}

/// Returns how many people had been told that all of theirs is safe when the server was killed.
async fn run(seed: u64) -> usize {
    let mut random = Random(seed);
    let (dir, after_kill) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut running = start(&dir).await;
    let rooms: Vec<String> = (0..3).map(|n| format!("{PAPER}/{n:032x}")).collect();
    let names: Vec<&str> = rooms.iter().map(String::as_str).collect();
    let mut desks: Vec<Desk> =
        (1..=5).map(|client| Desk::new(client, address(&running), secret(), &names)).collect();
    let mut offline = vec![false; desks.len()];
    let mut words = Vec::new();
    let mut told = 0;
    for round in 0..80 {
        let at = random.below(desks.len());
        let room = random.below(rooms.len());
        let word = format!("<{round}>");
        let length = u32::try_from(desks[at].text(&rooms[room]).len()).unwrap();
        // Only between words, so that each can be found.
        let place = if random.below(2) == 0 { 0 } else { length };
        desks[at].insert(&rooms[room], place, &word);
        words.push((room, word));
        match random.below(8) {
            0 => {
                offline[at] = !offline[at];
                desks[at].link.set_offline(offline[at]);
            }
            1 if !offline[at] => desks[at].until_level().await,
            2 => {
                // Knocks at once where a line is pausing.
                desks[at].link.retry_now();
            }
            _ => {}
        }
        if round == 40 {
            // What each has been told to be safe, and what is on the disk.
            let safe = |desk: &Desk| desk.peer.is_level().then(|| desk.own_clocks());
            let safe: Vec<_> = desks.iter().filter_map(safe).collect();
            told = safe.len();
            copy_folder(dir.path(), after_kill.path());
            let mut config = Config::loopback(after_kill.path().to_path_buf());
            config.listen = running.address();
            running.stop().await;
            running = serve(config).await.unwrap();
            // A newcomer has from the server alone what was confirmed.
            let mut new = Desk::new(90, address(&running), secret(), &names);
            new.until_level().await;
            for (client, room, clock) in safe.into_iter().flatten() {
                let there = new.state(&room).get(client);
                assert!(there >= clock, "seed {seed}, {room}: {there} of {clock}");
            }
            for desk in &desks {
                desk.link.retry_now();
            }
        }
    }
    for desk in &desks {
        desk.link.set_offline(false);
        desk.link.retry_now();
    }
    for desk in &mut desks {
        desk.until_level().await;
    }
    // All is at the server now; whoever comes back to it has all.
    let mut all = Desk::new(91, address(&running), secret(), &names);
    all.until_level().await;
    for (room, name) in rooms.iter().enumerate() {
        let text = all.text(name);
        for desk in &mut desks {
            desk.until_text(name, &text).await;
            assert_eq!(desk.state(name), all.state(name), "seed {seed}");
        }
        for (_, word) in words.iter().filter(|(of, _)| *of == room) {
            assert_eq!(text.matches(word.as_str()).count(), 1, "seed {seed}: {word} in {text}");
        }
    }
    running.stop().await;
    told
}

#[tokio::test]
async fn five_people_three_rooms_bad_lines_and_a_kill() {
    let mut told = 0;
    for seed in 1..=6 {
        told += run(seed).await;
    }
    assert!(told > 0, "somebody has to be promised something");
}
