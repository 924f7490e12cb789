-- A store of schema version 1: seven results of two suites, one of them a repeat, and a ledger record.
CREATE TABLE touchstone_batches (
	report_id VARCHAR(36) NOT NULL,
	suite VARCHAR(512) NOT NULL,
	suite_version VARCHAR(512) NOT NULL,
	config_digest VARCHAR(512) NOT NULL,
	concern_id VARCHAR(512) NOT NULL,
	batch_id VARCHAR(512) NOT NULL,
	revision BIGINT NOT NULL,
	emitted_revision BIGINT NOT NULL,
	emitted_final BOOLEAN NOT NULL,
	emitted_at FLOAT NOT NULL,
	changed_at FLOAT NOT NULL,
	interval_s FLOAT NOT NULL,
	due_at FLOAT,
	PRIMARY KEY (report_id)
);
INSERT INTO "touchstone_batches" VALUES('1372cb38-1f49-52f3-a57b-40c4a8600540','safe_v0','0.1','db679b75c764251c','c1','b1',1,0,FALSE,0.0,1767323100.0,0.0,1767323100.0);
INSERT INTO "touchstone_batches" VALUES('e069d96c-78d7-5a12-aa7b-6d86efea8968','safe_v0','0.1','db679b75c764251c','c1','b2',1,0,FALSE,0.0,1767323100.0,0.0,1767323100.0);
INSERT INTO "touchstone_batches" VALUES('68ed2bb9-7733-50fd-a00e-c25e6d49306e','toy','2.1','0000000000000000','toy','naïve',1,0,FALSE,0.0,1767323100.0,0.0,1767323100.0);
CREATE TABLE touchstone_intervals (
	suite VARCHAR(512) NOT NULL,
	suite_version VARCHAR(512) NOT NULL,
	topic VARCHAR(512) NOT NULL,
	partition INTEGER NOT NULL,
	first BIGINT NOT NULL,
	last BIGINT NOT NULL,
	intervals TEXT NOT NULL,
	PRIMARY KEY (suite, suite_version, topic, partition, first)
);
INSERT INTO "touchstone_intervals" VALUES('toy','2.1','touchstone.traces',1,0,8,'[[0,6,"skipped","other_kind"],[7,8,"scored",""]]');
INSERT INTO "touchstone_intervals" VALUES('safe_v0','0.1','touchstone.generations',0,0,5,'[[0,3,"scored",""],[5,5,"scored",""]]');
CREATE TABLE touchstone_positions (
	topic VARCHAR(512) NOT NULL,
	partition INTEGER NOT NULL,
	next_offset BIGINT NOT NULL,
	PRIMARY KEY (topic, partition)
);
INSERT INTO "touchstone_positions" VALUES('touchstone.results',0,8);
CREATE TABLE touchstone_repeats (
	result_id VARCHAR(512) NOT NULL,
	source_topic VARCHAR(512) NOT NULL,
	source_partition INTEGER NOT NULL,
	source_offset BIGINT NOT NULL,
	suite VARCHAR(512) NOT NULL,
	suite_version VARCHAR(512) NOT NULL,
	PRIMARY KEY (result_id, source_topic, source_partition, source_offset)
);
INSERT INTO "touchstone_repeats" VALUES('f4c212ef-26bc-5724-8b81-cbbffb6b6697','touchstone.generations',0,5,'safe_v0','0.1');
CREATE TABLE touchstone_results (
	result_id VARCHAR(512) NOT NULL,
	event_id VARCHAR(512) NOT NULL,
	case_id VARCHAR(512),
	kind VARCHAR(512) NOT NULL,
	suite VARCHAR(512) NOT NULL,
	suite_version VARCHAR(512) NOT NULL,
	config_digest VARCHAR(512) NOT NULL,
	label VARCHAR(512) NOT NULL,
	report_id VARCHAR(36),
	concern_id VARCHAR(512),
	batch_id VARCHAR(512),
	batch_size BIGINT,
	source_topic VARCHAR(512) NOT NULL,
	source_partition INTEGER NOT NULL,
	source_offset BIGINT NOT NULL,
	scored_at BIGINT NOT NULL,
	duration_ms TEXT NOT NULL,
	scores TEXT NOT NULL,
	document TEXT NOT NULL,
	content VARCHAR(32) NOT NULL,
	PRIMARY KEY (result_id)
);
INSERT INTO "touchstone_results" VALUES('0448a8d1-81b8-55fe-8e42-30a7b92e9dcf','e-t1','t1','safe','safe_v0','0.1','db679b75c764251c','Pass','1372cb38-1f49-52f3-a57b-40c4a8600540','c1','b1',NULL,'touchstone.generations',0,0,1767323040678901,'{"score":0.125}','{"AC":1.0,"AH":1.0,"CR":1.0,"composite":1.0}','{"attributes":{"archetype":"a","batch_id":"b1","batch_size":null,"concern_id":"c1","test_id":"t1"},"details":{"AC":{"found":["withheld:6c1e8e1c1293"],"missing":[]},"AH":{"violations":[]},"CR":{"found":["withheld:36a4b5533d3e","withheld:935fb2c63b45"],"missing":[]}}}','bf00fb9131c8929b28318319d0c3c86f');
INSERT INTO "touchstone_results" VALUES('252b75eb-3446-5d52-91b2-157b1065cacd','e-t2','t2','safe','safe_v0','0.1','db679b75c764251c','Review','1372cb38-1f49-52f3-a57b-40c4a8600540','c1','b1',NULL,'touchstone.generations',0,1,1767323041678901,'{"score":0.125}','{"AC":1.0,"AH":1.0,"CR":0.5,"composite":0.8333333333333334}','{"attributes":{"archetype":"a","batch_id":"b1","batch_size":null,"concern_id":"c1","test_id":"t2"},"details":{"AC":{"found":["withheld:6c1e8e1c1293"],"missing":[]},"AH":{"violations":[]},"CR":{"found":["withheld:36a4b5533d3e"],"missing":["withheld:935fb2c63b45"]}},"findings":[{"code":"cr_missing","message":"an expected signal is in neither the signals nor the summary","path":"expectations.signal_generation.must_find_signals[1]","severity":"major","suggestion":null}]}','b093b9b13a5447f4818706faed3f6853');
INSERT INTO "touchstone_results" VALUES('6623fbea-6e40-5774-9ade-760f2a694720','e-t3x','t3x','safe','safe_v0','0.1','db679b75c764251c','Fail','1372cb38-1f49-52f3-a57b-40c4a8600540','c1','b1',NULL,'touchstone.generations',0,2,1767323042678901,'{"score":0.125}','{"AC":1.0,"AH":0.0,"CR":0.0,"composite":0.3333333333333333}','{"attributes":{"archetype":"a","batch_id":"b1","batch_size":null,"concern_id":"c1","test_id":"t3x"},"correlation":{"trace":"ü1"},"details":{"AC":{"found":["withheld:6c1e8e1c1293"],"missing":[]},"AH":{"violations":["withheld:b1b4b94cd8a0"]},"CR":{"found":[],"missing":["withheld:36a4b5533d3e","withheld:935fb2c63b45"]}},"findings":[{"code":"cr_missing","message":"an expected signal is in neither the signals nor the summary","path":"expectations.signal_generation.must_find_signals[0]","severity":"major","suggestion":null},{"code":"cr_missing","message":"an expected signal is in neither the signals nor the summary","path":"expectations.signal_generation.must_find_signals[1]","severity":"major","suggestion":null},{"code":"ah_violation","message":"a forbidden term is used in the follow-up questions","path":"expectations.followup_questions.forbidden_terms[0]","severity":"major","suggestion":null}]}','d8fdce992e4810b02e9d5c0e42f47d43');
INSERT INTO "touchstone_results" VALUES('f4c212ef-26bc-5724-8b81-cbbffb6b6697','e-t4','t4','safe','safe_v0','0.1','db679b75c764251c','Pass','e069d96c-78d7-5a12-aa7b-6d86efea8968','c1','b2',NULL,'touchstone.generations',0,3,1767323045678901,'{"score":0.125}','{"AC":1.0,"AH":1.0,"CR":1.0,"composite":1.0}','{"attributes":{"archetype":"a","batch_id":"b2","batch_size":null,"concern_id":"c1","test_id":"t4"},"details":{"AC":{"found":["withheld:6c1e8e1c1293"],"missing":[]},"AH":{"violations":[]},"CR":{"found":["withheld:36a4b5533d3e","withheld:935fb2c63b45"],"missing":[]}}}','bb2aa2aa06126bf655185fff697e27c1');
INSERT INTO "touchstone_results" VALUES('00000000-0000-5000-8000-000000000007','o-7',NULL,'toy','toy','2.1','0000000000000000','unscored','68ed2bb9-7733-50fd-a00e-c25e6d49306e','toy','naïve',NULL,'touchstone.traces',1,7,1767322800000000,'{"score":0.0}','{"third":0.3333333333333333,"whole":2.0,"zero":0.0}','{"attributes":{"batch_id":"naïve","n":0,"yes":false},"components_missing":["judge"],"details":{"deep":[1,{"a":0.0}],"empty":[],"flag":false,"none":null},"failures":[{"code":"timeout","component":"judge","kind":"unavailable"}],"models":{"nli":"m@1"},"not_checked":[{"check":"c","reason":"r"}]}','9aace4ff412225f32d621ff5c291a4ce');
INSERT INTO "touchstone_results" VALUES('00000000-0000-5000-8000-000000000008','o-8',NULL,'toy','toy','2.1','0000000000000000','Pass',NULL,NULL,NULL,NULL,'touchstone.traces',1,8,1767322800000000,'{"score":0.0}','{"third":0.3333333333333333,"whole":2.0,"zero":0.0}','{"findings":[{"code":"note","message":"m","path":"a[0]","severity":"info","suggestion":null}]}','5b668e252837881a1b6c6bec82f48eec');
CREATE TABLE touchstone_schema (
	version INTEGER NOT NULL,
	PRIMARY KEY (version)
);
INSERT INTO "touchstone_schema" VALUES(1);
CREATE INDEX touchstone_results_report ON touchstone_results (report_id);
CREATE INDEX touchstone_results_source ON touchstone_results (suite, suite_version, source_topic, source_partition, source_offset);
CREATE INDEX touchstone_repeats_source ON touchstone_repeats (suite, suite_version, source_topic, source_partition, source_offset);
CREATE INDEX touchstone_batches_due ON touchstone_batches (due_at);
CREATE INDEX touchstone_batches_concern ON touchstone_batches (suite, concern_id, batch_id);
