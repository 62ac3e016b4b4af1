//! Figures go over HTTP, named by their hash.

use client::{Papers, PapersError};

use crate::desk::{PAPER, address, secret, start};

#[tokio::test]
async fn a_figure_comes_back_as_it_was_given_also_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let papers = Papers::new(address(&running), PAPER, secret()).unwrap();
    let figure: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let name = blake3::hash(&figure).to_hex().to_string();
    assert!(!papers.has_blob(&name).await.unwrap());
    let missing = papers.get_blob(&name, 1 << 30).await;
    assert!(matches!(missing, Err(PapersError::Missing { .. })));
    assert_eq!(papers.put_blob(figure.clone()).await.unwrap(), name);
    assert!(papers.has_blob(&name).await.unwrap());
    running.stop().await;
    let running = start(&dir).await;
    let papers = Papers::new(address(&running), PAPER, secret()).unwrap();
    assert_eq!(papers.get_blob(&name, 1 << 30).await.unwrap(), figure);
    let small = papers.get_blob(&name, 1000).await;
    assert!(matches!(small, Err(PapersError::TooLarge { .. })));
    running.stop().await;
}

#[tokio::test]
async fn a_figure_needs_the_secret_and_a_proper_name() {
    let dir = tempfile::tempdir().unwrap();
    let running = start(&dir).await;
    let wrong = protocol::Secret::parse("another-secret-of-somebody-else").unwrap();
    let eve = Papers::new(address(&running), PAPER, wrong).unwrap();
    assert!(matches!(eve.put_blob(vec![1]).await, Err(PapersError::Refused { .. })));
    let ann = Papers::new(address(&running), PAPER, secret()).unwrap();
    assert!(matches!(ann.get_blob("../../etc/passwd", 10).await, Err(PapersError::Name(_))));
    // An empty figure is one, too.
    let name = ann.put_blob(Vec::new()).await.unwrap();
    assert_eq!(ann.get_blob(&name, 10).await.unwrap(), b"");
    running.stop().await;
}
