//! What the errors say.

use std::error::Error as _;

use informers_workqueue::Error;

#[test]
fn errors_name_the_key_and_what_to_do_on_one_line_each() {
    let all = [
        Error::ShutDown { key: "default/web" },
        Error::NotTaken { key: "default/web" },
        Error::Released { queued: 3, processing: 2 },
        Error::DeadlinePassed { queued: 3, processing: 2 },
    ];
    for error in all {
        let text = error.to_string();
        let named =
            if error.clone().into_key().is_some() { "\"default/web\"" } else { "3 keys queued and 2 taken" };
        assert!(text.contains(named) && text.contains(';') && !text.contains('\n'), "{text}");
        assert!(error.source().is_none());
    }
}
