//! What is promised across crates; the tests are beside this folder.
